// The inbox, and a question on a page of its own.
import "./beside.js";
import { live } from "./inbox.js";
import "./more.js";
import { follow } from "./stream.js";

follow(live());
