// Cards come from the server as HTML; here they are put in their places, and left alone while a person works on them.
import { all, byId, one, parseAll, write } from "./dom.js";
import { draftText, forget, hasDraft, restore } from "./drafts.js";
import { changed, isTyping, takeAway } from "./hands.js";
import { regroup, still, waiting } from "./rows.js";
import { watch } from "./shown.js";
import { now } from "./times.js";
import { say } from "./words.js";

const MOST_SETTLED = 20;
const LISTED = "[data-list] > article, .row";
const list = (place) => one(`[data-list="${place}"]`);
export const openCards = () => all("article.card:not(.settled):not([hidden])");

export const note = (card, text) => write(one("[data-note]", card), text);

const later = new WeakMap();
const isSending = (card) => card.ariaBusy === "true";

/** Marks a card while something is sent from it; what came over the stream meanwhile is taken in afterwards. */
export function sending(card, underWay) {
  card.ariaBusy = underWay;
  if (underWay) return;
  take(later.get(card));
  card.dispatchEvent(new Event("sent"));
}

const SHOWN = "bdi, upcall-time";
const ASKED = ".head upcall-time, .meta bdi, .activity bdi";
const facts = (card, parts) =>
  [card.dataset.place, ...all(parts, card).map(({ dataset, textContent }) => dataset.at ?? textContent)].join();

// Open, or expired and on a page of its own, where it can be answered late.
const isAnswerable = (card) => card.querySelector("[data-answer]");
const isBusy = (card) => card.contains(document.activeElement) && card !== document.activeElement;

/** Takes in the card of an inquiry as it is now. `mine` is a card that this very page asked for. */
export function take(fresh, { mine = false } = {}) {
  if (!fresh) return;
  const old = byId(fresh.id);
  if (!old) {
    // A page about one question takes no others.
    if (!list("open")) return;
    fresh.classList.add("new");
    fresh.dataset.news = "";
    put(fresh);
    watch(fresh);
    return;
  }
  // What this person has sent is on its way: its own reply comes first; news of the stream wait for it.
  if (!mine && isSending(old)) {
    later.set(old, fresh);
    return;
  }
  if (Number(old.dataset.rank) > Number(fresh.dataset.rank)) return;
  // The stream repeats what the reply to this person has said before.
  if (!mine && facts(old, SHOWN) === facts(fresh, SHOWN)) return;
  // Where it was shown, and what becomes of a settled question, is nothing that a key could act on.
  if (!mine && isAnswerable(old) && facts(old, ASKED) !== facts(fresh, ASKED)) {
    fresh.dataset.news = "";
    if ("onscreen" in old.dataset) changed();
  }
  const settled = fresh.dataset.place === "settled";
  const open = !settled || (old.matches(".settled") && isAnswerable(fresh));
  const writing = isTyping(document.activeElement) && old.contains(document.activeElement);
  if (open && ((!mine && (isBusy(old) || hasDraft(old))) || (writing && fresh.dataset.place === old.dataset.place))) {
    old.querySelector("[data-meta]").replaceWith(fresh.querySelector("[data-meta]"));
    const led = fresh.querySelector("[data-activity]");
    if (led && !old.querySelector("[data-activity]")) old.querySelector("[data-meta]").after(led);
    note(old, fresh.dataset.change ?? "");
    return warn();
  }
  replace(old, fresh, settled, mine);
  watch(fresh);
}

function replace(old, fresh, settled, mine) {
  const focus = document.activeElement;
  const focused = old.contains(focus);
  const closes = settled && isAnswerable(old);
  // An expired question takes its draft along: to its form here, or to the page that has one.
  const late = settled && (isAnswerable(fresh) ?? fresh.querySelector("[data-late]"));
  const kept = old.querySelector(":scope > .draft") ?? (closes && !mine && !isAnswerable(fresh) && draftBox(draftText(old), fresh));
  const moves = old.dataset.place !== fresh.dataset.place && list(fresh.dataset.place);
  if ("found" in old.dataset) fresh.dataset.found = "";
  if (mine) fresh.dataset.mine = "";
  fresh.hidden = old.hidden;
  if (moves && !(settled && list("open").contains(old))) {
    old.remove();
    put(fresh);
  } else {
    // Where it was answered, it stays: nothing jumps under the reader's eyes.
    old.replaceWith(fresh);
  }
  if (settled && !late) forget(fresh);
  else restore(fresh);
  if (settled && kept) fresh.querySelector(".outcome").after(kept);
  if (focused) {
    if (closes ? !mine : !settled && isTyping(focus)) takeAway();
    // A field that has moved along is the one that was focused; else the draft, else the card.
    const rest = fresh.contains(focus) ? focus : closes && (kept ? kept.querySelector("textarea") : isTyping(focus) && isAnswerable(fresh)?.elements[focus.name]);
    (rest || fresh).focus({ preventScroll: true });
  }
  tidy();
}

/** What was being written when the question closed: to be read and copied. */
function draftBox(text, fresh) {
  if (!text) return undefined;
  const box = parseAll('<div class="draft"><p></p> <textarea rows="1" readonly></textarea><button type="button" data-copy></button></div>').firstChild;
  const [line, field, button] = box.children;
  line.textContent = say("js.draft");
  field.textContent = text;
  field.setAttribute("aria-label", `${fresh.querySelector(".outcome").textContent}. ${line.textContent}`);
  button.textContent = say("js.copy");
  return box;
}

function put(card) {
  const into = list(card.dataset.place);
  // Ids sort in the order of asking: the longest blocked comes first, the last settled too.
  const others = [...into.children];
  const next = card.dataset.place === "settled" ? others[0] : others.find((other) => other.id > card.id);
  into.insertBefore(card, next ?? null);
  if (card.dataset.place === "settled" && into.children.length > MOST_SETTLED) into.lastElementChild.remove();
  restore(card);
  tidy();
}

/** Tells a person who has begun to answer that hardly any time is left. */
export function warn() {
  for (const card of openCards()) {
    const line = card.querySelector("[data-expiring]");
    if (line) line.hidden = !(card.querySelector(".left.soon") && (isBusy(card) || hasDraft(card)));
  }
}

/** Hides what the filters leave out; whether there are any. What the server has found itself stays. */
function narrow() {
  const search = one("[data-search]");
  const words = (search?.value.toLocaleLowerCase() ?? "").split(/\s+/).filter(Boolean);
  const chosen = all("[data-filter]").filter((filter) => filter.value);
  for (const card of all(LISTED)) {
    const known = "found" in card.dataset && search?.value === search?.defaultValue;
    const text = words.length && !known ? card.textContent.toLocaleLowerCase() : "";
    const fits = chosen.every((filter) => card.dataset[filter.name] === filter.value);
    card.hidden = !known && !(fits && words.every((word) => text.includes(word)));
  }
  return words.length > 0 || chosen.length > 0;
}

/** Headings without cards and cards that do not match go; a snooze that is over brings its card back. */
export function tidy() {
  for (const card of all('[data-list="snoozed"] > [data-until]')) {
    // Not under the hands: a card that is moved loses the focus.
    if (Number(card.dataset.until) > now() || isBusy(card)) continue;
    card.dataset.place = "open";
    card.classList.replace("snoozed", "open");
    put(card);
    changed();
    return;
  }
  regroup();
  let narrowed;
  still(() => {
    narrowed = narrow();
    for (const section of all("[data-section]")) {
      section.hidden = !section.querySelector(":is(article, .row):not([hidden])");
    }
  });
  const empty = one("[data-empty]");
  if (!empty) return;
  empty.hidden = narrowed || Boolean(one('.row:not([data-group="settled"])'));
  one("[data-nothing]").hidden = !narrowed || waiting().length > 0;
}
