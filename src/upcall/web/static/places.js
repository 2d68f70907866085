// Keys of every page: g and a letter to go to another, ? for the list of all keys.
import "./drafts.js";

const SEQUENCE = 1_500;
const PLACES = { i: "/", r: "/runs", h: "/history" };
let going = -SEQUENCE;

export const isTyping = (target) => target.matches("textarea, select, input[type=search]");

/** A key alone, of which nothing else has heard, and for which no field waits. */
const isFree = (event) =>
  !(event.defaultPrevented || event.isComposing || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || document.querySelector("dialog[open]"));

function press(event) {
  const { key, timeStamp } = event;
  if (!isFree(event)) return;
  const path = timeStamp - going < SEQUENCE && PLACES[key];
  going = key === "g" ? timeStamp : -SEQUENCE;
  if (!path && !"g?".includes(key)) return;
  // The letter has had its meaning.
  event.preventDefault();
  if (path) location.assign(path);
  if (key === "?") document.querySelector("[data-help]")?.showModal();
}

document.addEventListener("keydown", press);
