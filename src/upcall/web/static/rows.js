// The list: a row for each question, in its group, by deadline and then by how long it has been blocked.
import { all, byId, one, wide } from "./dom.js";
import { changed } from "./hands.js";
import { watch } from "./shown.js";
import { now } from "./times.js";
import { say } from "./words.js";

const EXPIRING = 900;
const MOST_SETTLED = 20;
let kept;
const pill = one("[data-fresh]");
const list = (group) => one(`[data-rows="${group}"]`);
export const rowOf = (id) => byId(`row-${id}`);
/** What waits, in the order in which it is read. */
export const waiting = () => all('[data-rows]:not([data-rows="settled"]) .row:not([hidden])');

function groupOf({ dataset: { group, until, expires, kind } }) {
  if (group === "settled") return group;
  if (Number(until) > now()) return "snoozed";
  if (Number(expires) - now() < EXPIRING) return "expiring";
  return kind === "approval" ? "approvals" : "questions";
}

const after = ({ dataset: a }, { dataset: b }) => a.expires - b.expires || a.asked - b.asked || (a.id > b.id ? 1 : -1);

/** Where a row goes: to those of the same action, which two of them begin to stand together. */
function home({ dataset: { alike, id, group } }) {
  const mate = list(group).querySelector(`[data-alike="${alike}"]:not([data-id="${id}"])`);
  if (!mate) return list(group);
  if (!mate.closest("[data-batch]")) {
    const batch = one("[data-batches]").content.firstElementChild.cloneNode(true);
    for (const part of batch.querySelectorAll("[data-action]")) part.textContent = mate.querySelector(".line").textContent;
    mate.before(batch);
    batch.querySelector("ol").append(mate);
  }
  return mate.parentElement;
}

/** Counts what stands together; what is left of it alone stands by itself again. */
function gather() {
  for (const batch of all(".list [data-batch]")) {
    const rows = batch.querySelectorAll(".row");
    batch.querySelector("[data-n]").textContent = rows.length;
    if (rows.length < 2) batch.replaceWith(...rows);
    else Object.assign(batch.dataset, { expires: rows[0].dataset.expires, asked: rows[0].dataset.asked, id: rows[0].dataset.id });
  }
}

function put(row) {
  row.dataset.group = groupOf(row);
  const into = home(row);
  const settled = row.dataset.group === "settled";
  into.closest("[data-section]").hidden = false;
  into.insertBefore(row, (settled ? into.firstChild : [...into.children].find((other) => after(other, row) > 0)) ?? null);
  if (settled && into.children.length > MOST_SETTLED) into.lastElementChild.remove();
  const time = row.querySelector('[data-as="quiet"]');
  if (!time || row.dataset.group === "snoozed") return;
  // Its snooze is over.
  time.dataset.at = row.dataset.asked;
  time.dataset.as = "waited";
  time.show();
}

const scroller = () => (wide.matches ? pill.closest("[data-scroll]") : document.scrollingElement);
/** How far down the list a row is, wherever the list is scrolled to. */
const depth = (row) => row.getBoundingClientRect().top + scroller().scrollTop;

/** Changes the list; the row that is read, or else the first on the screen, stays where it is. */
export function still(change) {
  if (!kept) {
    const row = one(".row[data-onscreen]:has([aria-current])") ?? one(".row[data-onscreen]");
    // At the top of the list what is new is seen before what is settled.
    kept = row && (row.dataset.group !== "settled" || scroller().scrollTop) ? { id: row.id, depth: depth(row) } : {};
    // Measuring lays the page out, so it is done once for all changes of a frame.
    requestAnimationFrame(settle);
  }
  change();
}

/** Brings the row that stays back to its place. What a person asks to see is scrolled to after that. */
export function settle() {
  const row = byId(kept?.id);
  const moved = row && !row.hidden && depth(row) - kept.depth;
  kept = undefined;
  if (moved) scroller().scrollTop += moved;
}

function count() {
  const { length } = all(".row.new");
  const text = length ? say("js.new", { n: length }) : "";
  // The same is not read out again.
  if (pill.textContent !== text) pill.textContent = text;
  pill.hidden = !length;
}

/** A row that was opened is new no more. */
export function seen(row) {
  row?.classList.remove("new");
  count();
}

/** Takes in the row of a question as it is now; whether it is a new one. `mine`: this very page asked for it. */
export function takeRow(fresh, { mine = false } = {}) {
  if (!fresh || !pill) return false;
  const { id, rank, facts, group } = fresh.dataset;
  const old = rowOf(id);
  const card = byId(`i-${id}`);
  if (!mine && card?.ariaBusy === "true") {
    // What this person has sent is on its way, and its own reply comes first.
    card.addEventListener("sent", () => takeRow(fresh), { once: true });
    return false;
  }
  if (old && (Number(old.dataset.rank) > Number(rank) || old.dataset.facts === facts)) return false;
  const isNew = !old && group !== "settled";
  const box = fresh.querySelector("input");
  if (isNew) {
    fresh.classList.add("new");
    // What comes while others are selected is not among them.
    if (box) box.checked = false;
  }
  const focused = old?.contains(document.activeElement);
  if (old) carry(old, fresh);
  still(() => {
    put(fresh);
    old?.remove();
    gather();
  });
  if (focused) fresh.firstElementChild.focus({ preventScroll: true });
  // What this person has decided is told once its time is over: that follows from it, and is no news.
  const own = mine || (group === "settled" && card?.matches(".held[data-mine]"));
  if (!own && old?.dataset.group !== "settled") {
    fresh.dataset.news = "";
    if (old && "onscreen" in old.dataset) changed();
  }
  watch(fresh);
  count();
  return isNew;
}

function carry(old, fresh) {
  const [box, before] = [fresh, old].map((row) => row.querySelector("input:enabled"));
  if (box && before) box.checked = before.checked;
  fresh.classList.toggle("new", old.matches(".new") && fresh.dataset.group !== "settled");
  for (const name of ["found", "drafted", "coming"]) if (name in old.dataset) fresh.dataset[name] = "";
  if (old.querySelector("[aria-current]")) fresh.firstElementChild.setAttribute("aria-current", "true");
}

/** Takes in rows that were there all the time, and were not drawn yet. */
export function takeOlder(rows) {
  for (const row of rows) {
    if (rowOf(row.dataset.id)) continue;
    row.dataset.found = "";
    put(row);
    watch(row);
  }
  gather();
}

/** Time moves a row from group to group: its end comes near, or its snooze is over. */
export function regroup() {
  for (const row of waiting()) {
    if (row.dataset.group === groupOf(row)) continue;
    const focus = row.contains(document.activeElement);
    if ("onscreen" in row.dataset) changed();
    still(() => { put(row); gather(); });
    if (focus) row.firstElementChild.focus({ preventScroll: true });
  }
}

/** The first of what is new, on the screen and under the focus. */
function find() {
  settle();
  const first = one(".row.new");
  for (const row of all(".row.new")) row.classList.remove("new");
  count();
  first.firstElementChild.focus();
  first.scrollIntoView({ block: "nearest" });
}

pill?.addEventListener("click", find);
if (pill) gather();
