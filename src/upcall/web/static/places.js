// Keys of every page: g and a letter to go to another, ? for the list of all keys.
import { all, one } from "./dom.js";
import "./drafts.js";

const SEQUENCE = 1_500;
const PLACES = { i: "/", r: "/runs", h: "/history" };
let going = -SEQUENCE;

export const isTyping = (target) => target.matches("textarea, select, .typed, input[type=search]");

/** A key alone, of which nothing else has heard, and for which no field waits. */
const isFree = (event) =>
  !(event.defaultPrevented || event.isComposing || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || one("dialog[open]"));

function press(event) {
  const { key, timeStamp } = event;
  if (!isFree(event)) return;
  const path = timeStamp - going < SEQUENCE && PLACES[key];
  going = key === "g" ? timeStamp : -SEQUENCE;
  if (!path && !"g?".includes(key)) return;
  // The letter has had its meaning.
  event.preventDefault();
  if (path) location.assign(path);
  if (key === "?") one("[data-help]")?.showModal();
}

/** A menu closes by Esc inside it and by a press elsewhere, but not over words that were written in it. */
function fold({ type, key, target }) {
  for (const menu of all(":is(.menu, details[name])[open]")) {
    const inside = menu.contains(target);
    if (type === "click" ? inside || all("textarea", menu).some(({ value }) => value) : key !== "Escape" || !inside) continue;
    menu.open = false;
    if (inside) one("summary", menu).focus();
  }
}

document.addEventListener("keydown", press);
document.addEventListener("keydown", fold);
// Before the press is heard by its target, which may open a menu.
document.addEventListener("click", fold, true);
