// The live inbox. State lives in the page and on the server, and nowhere else.
import { show } from "./badge.js";
import { take, tidy, warn } from "./cards.js";
import { greet, isDesk, isFree } from "./desk.js";
import { all, byId, one, parseAll } from "./dom.js";
import { keep, restore } from "./drafts.js";
import "./files.js";
import "./filters.js";
import { changed, isTyping } from "./hands.js";
import { guard, press } from "./keys.js";
import "./bulk.js";
import { announce } from "./manners.js";
import "./edit.js";
import "./plan.js";
import { rowOf, still, takeRow } from "./rows.js";
import { flash, send } from "./send.js";
import { watch } from "./shown.js";
import { review } from "./tabs.js";
import "./times.js";
import { say } from "./words.js";

const TIDY_EVERY = 5_000;
const TWICE = 5_000;
const RESTING = ["snoozed", "settled"];

function typed({ target }) {
  if (target.matches("[data-search]")) tidy();
  const card = target.form?.closest("article");
  if (!card) return;
  // Writing one's own words is choosing them.
  if (target.matches("[data-own]") && target.value) {
    target.closest(".option").querySelector("[data-other]").checked = true;
  }
  if (target.matches("[data-other]")) target.closest(".option").querySelector("textarea").focus();
  flash("");
  warn();
  review(target.form);
  keep(card);
}

let listedLast = {};

/** A row comes before its card, which takes longer to draw. */
function listed({ html, seq }) {
  const row = one(".row", parseAll(html));
  listedLast = { seq, id: row.dataset.id };
  still(() => {
    if (takeRow(row)) row.dataset.coming = "";
    tidy();
  });
}

/** The card of a question; none where the list has said it all, because the card is not on the page and is not opened either. */
function drawn({ html, seq }) {
  const { id } = listedLast.seq === seq ? listedLast : {};
  const isUnseen = isDesk && id && !byId(`i-${id}`) && !isFree();
  return isUnseen ? undefined : one("article", parseAll(html));
}

function arrived(news) {
  const card = drawn(news);
  const entry = isDesk ? rowOf(card?.dataset.id ?? listedLast.id) : card;
  const isNew = isDesk ? entry?.matches("[data-coming]") : !byId(card.id);
  entry?.removeAttribute("data-coming");
  take(card);
  if (!isNew || RESTING.includes(entry.dataset.place ?? entry.dataset.group) || !entry.isConnected || entry.hidden) return;
  if (card && isDesk) greet(card);
  // Of all tabs, the one that holds the stream speaks.
  if (news.first) announce(entry);
}

/** Asks for the page anew, but not under the hands of a person who writes: the letters would go to another card. */
function renew() {
  const field = document.activeElement;
  if (isTyping(field)) field.addEventListener("blur", renew, { once: true });
  else location.reload();
}

function copy({ target }) {
  if (!target.matches("[data-copy]")) return;
  target.parentElement.querySelector("textarea").select();
  // The only way that works on an address that is not secure.
  if (document.execCommand("copy")) target.textContent = say("js.copied");
  target.focus();
}

/** Channels that do not work, as they are now; what is there already is not read out again. */
function faults(html) {
  const old = one("[data-faults]");
  const fresh = parseAll(html).querySelector("ul");
  if (!old || old.dataset.faults === fresh.dataset.faults) return;
  old.replaceWith(fresh);
  // It stands above all cards, which move.
  changed();
}

/** A form that leaves the page is sent once, also by a double click. */
function once(event) {
  const { target: { method, dataset }, timeStamp } = event;
  if (method !== "post") return;
  if (timeStamp < dataset.sent) event.preventDefault();
  dataset.sent = timeStamp + TWICE;
}

function hear(news) {
  if (news.kind === "row") listed(news);
  if (news.kind === "card") arrived(news);
  if (news.kind === "faults") faults(news.html);
  if (news.kind === "count") show(news.count);
  if (news.kind === "reset") renew();
  if (news.kind === "state") {
    one("[data-offline]").hidden = news.connected;
    document.body.dataset.connected = news.connected;
  }
}

/** Brings a page to life; what it returns takes in the news. */
export function live() {
  for (const entry of all("article.card, .row")) {
    entry.dataset.found = "";
    restore(entry);
    watch(entry);
  }
  tidy();
  show(Number(one("[data-count]").textContent));
  setInterval(() => { tidy(); warn(); }, TIDY_EVERY);
  // What was said once is not said again after a reload.
  if (new URLSearchParams(location.search).has("said")) history.replaceState(null, "", location.pathname);
  document.addEventListener("submit", send);
  document.addEventListener("submit", once);
  document.addEventListener("click", guard, true);
  document.addEventListener("keydown", guard, true);
  document.addEventListener("keydown", press);
  document.addEventListener("click", copy);
  document.addEventListener("input", typed);
  return hear;
}
