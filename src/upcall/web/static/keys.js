// The keyboard; the list of all keys is in keys.html.
import { note, openCards } from "./cards.js";
import { isDesk, step } from "./desk.js";
import { all, one } from "./dom.js";
import { isTyping, misses, refusal } from "./hands.js";
import { flash } from "./send.js";
import { say } from "./words.js";

const current = () => document.activeElement.closest("article.card");

function move(by) {
  if (isDesk) return step(by);
  const cards = openCards();
  if (!cards.length) return undefined;
  const place = cards.indexOf(current());
  const next = place < 0 ? (by > 0 ? 0 : cards.length - 1) : Math.min(Math.max(place + by, 0), cards.length - 1);
  cards[next].focus();
  return cards[next].scrollIntoView({ block: "nearest" });
}

// A key on a card that is settled by now, or on none at all, means no other in its place.
const at = () => document.activeElement.closest("article.card:not(.settled)");

function choose(number) {
  // In a form without tabs, of the question that has the focus.
  const asked = document.activeElement.closest("fieldset") ?? at();
  const choice = at() && asked.querySelector(`:is(.verdict, fieldset:not([hidden])) [data-choice="${number}"]`);
  if (!choice) return false;
  if (choice.matches("input")) {
    choice.checked = choice.type === "checkbox" ? !choice.checked : true;
    choice.dispatchEvent(new Event("input", { bubbles: true }));
  }
  choice.focus();
  return true;
}

/** Takes what the agent recommends, of what can be seen; a question that stands alone is sent with it. */
function recommended() {
  const form = at()?.querySelector("[data-answer]");
  const inputs = form?.querySelectorAll("fieldset:not([hidden]) .option:has(.good) input") ?? [];
  for (const input of inputs) input.checked = true;
  if (!inputs.length) return;
  inputs[0].dispatchEvent(new Event("input", { bubbles: true }));
  if (form.querySelectorAll("fieldset").length === 1) form.requestSubmit();
}

function unfold(name) {
  const details = at()?.querySelector(`details[data-${name}]`);
  if (!details) return;
  details.open = true;
  details.querySelector("textarea, button").focus();
}

/** Goes to where a plan is commented on, or an action is changed. */
function change() {
  const comments = at()?.querySelector("[data-comments]");
  if (comments) comments.focus();
  else unfold("edit");
}

function submit(card) {
  const form = card?.querySelector("[data-answer]");
  // A verdict needs a decision: Enter alone is none.
  if (!form || form.querySelector(".verdict")) return false;
  form.requestSubmit();
  return true;
}

const commands = {
  j: () => move(1),
  k: () => move(-1),
  y: recommended,
  u: () => all("article [data-undo] button, [data-held] [data-bulk] button").at(-1)?.click(),
  r: () => unfold("reject"),
  s: () => unfold("snooze"),
  e: () => unfold("extend"),
  c: change,
  "/": () => one("[data-search]")?.focus(),
};

let told;

/** Before anything else hears of a key or a click: one that must not act does nothing, and the card says why. */
export function guard(event) {
  const isClick = event.type === "click";
  const why = one("dialog[open]") ? "" : (isClick ? misses : refusal)(event);
  if (told) note(told, "");
  told = say(why) && event.target.closest("article.card");
  if (told) note(told, say(why));
  else if (isClick && why) flash(say(why));
  if (!why) return;
  event.preventDefault();
  event.stopImmediatePropagation();
}

export function press(event) {
  const { target, key } = event;
  const held = event.ctrlKey || event.metaKey;
  if (event.defaultPrevented || event.isComposing || event.altKey || one("dialog[open]")) return;
  if (held) {
    if (key !== "Enter" || !target.matches("article textarea")) return;
    // Comments on a plan are sent with Revise, a changed action as changed.
    target.form.requestSubmit(one(`button[value="${target.dataset.sends}"]`, target.form));
  } else if (key === "Escape") {
    if (target.closest("article, .search")) target.blur();
    target.closest("article")?.focus();
    return;
  } else if (isTyping(target)) return;
  // On a button, a link or a summary, Enter means that one.
  else if (key === "Enter") {
    if (!target.matches("article, article input") || !submit(at())) return;
  } else if (/^[1-9]$/.test(key)) {
    if (!choose(key)) return;
  } else if (commands[key]) commands[key]();
  else return;
  event.preventDefault();
}
