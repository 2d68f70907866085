// Runs as they go: rows of the list, or one run with its questions and the end of its log.
import { show } from "./badge.js";
import { byId, one, parseAll as parse } from "./dom.js";
import { recall, remember } from "./drafts.js";
import { changed } from "./hands.js";
import { live } from "./inbox.js";
import { writeLog } from "./log.js";
import { follow } from "./stream.js";

const runs = one("[data-runs]");
const log = one("[data-log]");

function row(html) {
  const fresh = parse(html).querySelector("li");
  const old = byId(fresh.id);
  if (old) old.replaceWith(fresh);
  else if (runs) {
    // Numbers are given in the order of starting, and the newest comes first.
    const next = [...runs.children].find((other) => Number(other.dataset.number) < Number(fresh.dataset.number));
    runs.insertBefore(fresh, next ?? null);
  }
  one("[data-no-runs]").hidden = true;
}

function head(html) {
  const old = one("[data-run-head]");
  const fresh = parse(html).querySelector("[data-run-head]");
  // Other buttons stand below it once the run is over.
  if (old.dataset.over !== fresh.dataset.over) changed();
  old.replaceWith(fresh);
}

function write(html) {
  one("[data-no-log]").hidden = true;
  writeLog(log, html);
}

/** The message to a run is kept until it is sent. */
function keepMessage(field) {
  const key = `draft:${location.pathname}`;
  field.value ||= recall(key) ?? "";
  field.addEventListener("input", () => remember(key, field.value));
  field.form.addEventListener("submit", () => remember(key));
}

const message = byId("say");
if (message) keepMessage(message);
if (log) log.scrollTop = log.scrollHeight;
const hear = live();
follow((news) => {
  if (news.kind === "run") (log ? head : row)(news.html);
  else if (news.kind === "log") write(news.html);
  else if (news.kind === "count") show(news.count);
  else hear(news);
});
