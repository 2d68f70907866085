// The question beside the list: opened by a press, or by j and k; after sending, the next one opens by itself.
import { all, byId, idle, one, parseAll, wide, write } from "./dom.js";
import { hasDraft, restore } from "./drafts.js";
import { came, changed, isTyping, takeUp } from "./hands.js";
import { get } from "./post.js";
import { rowOf, seen, settle, waiting } from "./rows.js";
import { watch } from "./shown.js";
import { say } from "./words.js";

const KEPT = 8;
const FAR = 60;
const desk = one("[data-desk]");
const pane = one("[data-pane]");
export const isDesk = Boolean(pane);
export const shown = () => pane?.querySelector(":scope > article:not([hidden])");
const isHeld = (id) => rowOf(id).querySelector(".outcome");
const awake = () => waiting().filter(({ dataset: { group, id } }) => group !== "snoozed" && !isHeld(id));
const now = () => one(".row:has([aria-current])");

function mark(id) {
  now()?.firstElementChild.removeAttribute("aria-current");
  rowOf(id)?.firstElementChild.setAttribute("aria-current", "true");
  seen(rowOf(id));
}

/** A page that is loaded again opens what was open; on a phone, the way back leads to the list. */
function address(id) {
  const known = `#i-${id}`;
  if (location.hash !== known) history[wide.matches || location.hash ? "replaceState" : "pushState"](null, "", known);
}

/** What follows a question in the list; after the last, what comes before it. */
export function following(id) {
  const rows = awake();
  const place = rows.findIndex((row) => row.dataset.id === id);
  return (rows[place + 1] ?? rows[place - 1])?.dataset.id;
}

async function load(id) {
  const before = rowOf(id);
  const { ok, text } = await get(`/i/${id}`);
  if (!ok) throw new Error(text);
  const card = one("article", parseAll(text));
  // What happened meanwhile is in the list already, and may not be on this card.
  if (rowOf(id) !== before) return load(id);
  return byId(card.id) ?? add(card);
}

function add(card) {
  card.hidden = true;
  pane.append(card);
  restore(card);
  watch(card);
  return card;
}

function show(card, { focus }) {
  const old = shown();
  if (old !== card) {
    if (old) leave(old);
    // The one that was used last comes last.
    pane.append(card);
    card.hidden = false;
    for (const part of [pane.parentElement, ...(wide.matches ? [] : [document.scrollingElement])]) part.scrollTop = 0;
  }
  one("[data-choose]").hidden = true;
  one("[data-unread]").hidden = true;
  if (focus && !isTyping(document.activeElement)) card.focus({ preventScroll: true });
  desk.dispatchEvent(new CustomEvent("shown", { detail: card }));
}

/** What was written in a card stays in it. */
function leave(card) {
  card.hidden = true;
  rowOf(card.dataset.id)?.toggleAttribute("data-drafted", hasDraft(card));
  const spare = all(":scope > article[hidden]", pane).filter((each) => !hasDraft(each) && !each.querySelector(".draft, [data-undo]"));
  for (const each of spare.slice(0, -KEPT)) each.remove();
}

/** Opens a question. `came`: by itself, and not because this very question was chosen. */
export async function open(id, { focus = true, byItself = false } = {}) {
  pane.dataset.wanted = id;
  desk.dataset.open = "";
  mark(id);
  rowOf(id)?.closest("details")?.setAttribute("open", "");
  address(id);
  let card = byId(`i-${id}`);
  if (!card) {
    // No key meant for this one acts on the other.
    if (shown()) leave(shown());
    if (focus) rowOf(id)?.firstElementChild.focus({ preventScroll: true });
    try {
      card = await load(id);
    } catch {
      write(one("[data-unread]"), say("js.unread"));
      return;
    }
    if (!card || pane.dataset.wanted !== id) return;
    changed();
  }
  show(card, { focus });
  if (byItself) came();
  else one("[data-flash]").hidden = true;
  ahead(id);
}

/** The next one is loaded before it is wanted; what changes about it comes over the stream. */
function ahead(id) {
  const next = following(id);
  if (next && !byId(`i-${next}`)) idle(() => load(next).catch(() => {}));
}

/** After sending: on to the next, unless the person has gone on already; whether another is shown. */
export function advance(card, next) {
  if (!pane || shown() !== card) return Boolean(pane);
  if (!next || (card.dataset.place === "open" && !card.matches(".held"))) return false;
  open(next, { focus: card.contains(document.activeElement), byItself: true });
  return true;
}

/** Nothing is read beside the list: the pane is empty, or has what this person has just settled. */
export function isFree() {
  const old = shown();
  return !old || ("mine" in old.dataset && old.matches(".settled"));
}

/** A new question opens where nothing else is read. */
export function greet(card) {
  if (!isFree()) return;
  pane.dataset.wanted = card.dataset.id;
  mark(card.dataset.id);
  show(byId(card.id) ?? add(card), { focus: false });
  changed();
}

/** By a key to the next or the previous question; first of all, to the one that is shown. */
export function step(by) {
  const card = shown();
  const here = document.activeElement.closest("article, .row");
  if (waiting().includes(now()) && card && ((by > 0 && takeUp()) || !here)) card.focus();
  else turn(by);
}

function turn(by) {
  const rows = waiting();
  if (!rows.length) return;
  const at = rows.indexOf(now());
  const next = rows[at < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.min(Math.max(at + by, 0), rows.length - 1)];
  open(next.dataset.id);
  settle();
  next.scrollIntoView({ block: "nearest" });
}

function close() {
  delete desk.dataset.open;
  settle();
  now()?.scrollIntoView({ block: "nearest" });
}

function follow(event) {
  const link = event.target.closest(".row a, a[data-open]");
  const id = link?.dataset.open ?? link?.closest(".row").dataset.id;
  if (!id || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  link.closest("dialog")?.close();
  open(id);
}

function go(event) {
  const button = event.target.closest("[data-step], [data-back]");
  if (!button) return;
  event.preventDefault();
  if (button.dataset.step) turn(Number(button.dataset.step));
  else if (location.hash) history.back();
  else close();
}

let touched;
function swipe({ changedTouches: [{ clientX, clientY }], target }) {
  const [x, y] = [clientX - touched.clientX, clientY - touched.clientY];
  // Not where a swipe scrolls or selects.
  if (wide.matches || Math.abs(x) < FAR || Math.abs(y) > FAR / 2 || target.closest("pre, table, textarea")) return;
  turn(x < 0 === (document.dir !== "rtl") ? 1 : -1);
}

function begin() {
  const [card] = pane.querySelectorAll(":scope > article");
  one("[data-steps]").hidden = false;
  desk.addEventListener("click", go);
  document.addEventListener("click", follow);
  pane.addEventListener("touchstart", ({ touches }) => { [touched] = touches; }, { passive: true });
  pane.addEventListener("touchend", swipe, { passive: true });
  pane.addEventListener("focusin", () => address(shown().dataset.id));
  addEventListener("popstate", () => (location.hash ? open(location.hash.slice(3), { focus: false }) : close()));
  if (card) {
    mark(card.dataset.id);
    ahead(card.dataset.id);
  }
  if (location.hash.startsWith("#i-")) open(location.hash.slice(3), { focus: false });
}

if (isDesk) begin();
