// The end of a run's log.
import { all, parseAll } from "./dom.js";

const MOST_LINES = 400;

/** Adds what was written; a reader who has scrolled back stays where they are. */
export function writeLog(log, html) {
  const fresh = parseAll(html);
  const atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 40;
  log.dataset.log = fresh.querySelector("[data-next]").dataset.next;
  log.append(...fresh.querySelectorAll("li"));
  for (const old of all("li", log).slice(0, -MOST_LINES)) old.remove();
  if (atEnd) log.scrollTop = log.scrollHeight;
}
