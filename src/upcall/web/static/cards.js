// Cards come from the server as HTML; here they are put in their places, and left alone while somebody is at them.
import { draftText, forget, hasDraft, restore } from "./drafts.js";
import { watch } from "./shown.js";
import { now } from "./times.js";
import { say } from "./words.js";

const MOST_SETTLED = 20;
const list = (place) => document.querySelector(`[data-list="${place}"]`);
export const openCards = () => [...document.querySelectorAll("article.card:not(.settled):not([hidden])")];

export function parseAll(html) {
  const holder = document.createElement("template");
  holder.innerHTML = html;
  return holder.content;
}

export const parse = (html) => parseAll(html).querySelector("article");

export function note(card, text) {
  const line = card.querySelector("[data-note]");
  line.textContent = text;
  line.hidden = !text;
}

const isBusy = (card) => card.contains(document.activeElement) && card !== document.activeElement;

/** Takes in the card of an inquiry as it is now. `mine` is a card that this very page asked for. */
export function take(fresh, { mine = false } = {}) {
  if (!fresh) return;
  const old = document.getElementById(fresh.id);
  if (!old) {
    // A page about one question takes no others.
    if (!list("open")) return;
    fresh.classList.add("new");
    put(fresh);
    watch(fresh);
    return;
  }
  watch(fresh);
  if (Number(old.dataset.rank) > Number(fresh.dataset.rank)) return;
  const settled = fresh.dataset.place === "settled";
  if (!settled && !mine && (isBusy(old) || hasDraft(old))) {
    old.querySelector("[data-meta]").replaceWith(fresh.querySelector("[data-meta]"));
    note(old, fresh.dataset.change ?? "");
    return;
  }
  replace(old, fresh, settled, mine);
}

/** Takes in cards that were there all the time, and were not drawn yet. */
export function takeOlder(cards) {
  for (const card of cards) {
    if (document.getElementById(card.id)) continue;
    card.dataset.found = "";
    put(card, { quiet: true });
    watch(card);
  }
  tidy();
}

function replace(old, fresh, settled, mine) {
  const focused = old.contains(document.activeElement);
  const written = draftText(old);
  const kept = old.querySelector(":scope > .draft");
  const moves = old.dataset.place !== fresh.dataset.place && list(fresh.dataset.place);
  if (moves && !(settled && list("open").contains(old))) {
    old.remove();
    put(fresh);
  } else {
    // Where it was answered, it stays: nothing jumps under the reader's eyes.
    old.replaceWith(fresh);
  }
  if (settled) {
    forget(fresh);
    if (kept) fresh.append(kept);
    else if (!mine && written) fresh.append(draftLine(written));
  } else restore(fresh);
  if (focused) fresh.focus({ preventScroll: true });
  tidy();
}

function draftLine(text) {
  const line = document.createElement("p");
  line.className = "draft";
  line.textContent = say("js.draft", { text });
  return line;
}

function put(card, { quiet = false } = {}) {
  const into = list(card.dataset.place);
  // Ids sort in the order of asking: the longest blocked comes first, the last settled too.
  const others = [...into.children];
  const next = card.dataset.place === "settled" ? others[0] : others.find((other) => other.id > card.id);
  into.insertBefore(card, next ?? null);
  if (card.dataset.place === "settled" && into.children.length > MOST_SETTLED) into.lastElementChild.remove();
  restore(card);
  if (!quiet) tidy();
}

/** Whoever is about to answer is told when hardly any time is left. */
export function warn() {
  for (const card of openCards()) {
    const line = card.querySelector("[data-expiring]");
    if (line) line.hidden = !(card.querySelector(".left.soon") && (isBusy(card) || hasDraft(card)));
  }
}

/** Hides what the filters leave out; whether there are any. What the server has found itself stays. */
function narrow() {
  const search = document.querySelector("[data-search]");
  const words = (search?.value.toLocaleLowerCase() ?? "").split(/\s+/).filter(Boolean);
  const chosen = [...document.querySelectorAll("[data-filter]")].filter((filter) => filter.value);
  for (const card of document.querySelectorAll("[data-list] > article")) {
    const known = "found" in card.dataset && search?.value === search?.defaultValue;
    const text = words.length && !known ? card.textContent.toLocaleLowerCase() : "";
    const fits = chosen.every((filter) => card.dataset[filter.name] === filter.value);
    card.hidden = !known && !(fits && words.every((word) => text.includes(word)));
  }
  return words.length > 0 || chosen.length > 0;
}

/** Headings without cards and cards that do not match go; a snooze that is over brings its card back. */
export function tidy() {
  for (const card of document.querySelectorAll('[data-list="snoozed"] > [data-until]')) {
    if (Number(card.dataset.until) > now()) continue;
    card.dataset.place = "open";
    card.classList.replace("snoozed", "open");
    put(card);
    return;
  }
  const narrowed = narrow();
  for (const section of document.querySelectorAll("[data-section]")) {
    section.hidden = !section.querySelector("article:not([hidden])");
  }
  const empty = document.querySelector("[data-empty]");
  if (!empty) return;
  const waiting = document.querySelector('[data-list="open"] > article, [data-list="snoozed"] > article');
  empty.hidden = Boolean(waiting) || narrowed;
  const shown = document.querySelector('[data-list="open"] > article:not([hidden]), [data-list="snoozed"] > article:not([hidden])');
  document.querySelector("[data-nothing]").hidden = !narrowed || Boolean(shown);
}
