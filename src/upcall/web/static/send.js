// Sends a form without leaving the page. Without this script the same form is sent the plain way.
import { note, sending, take } from "./cards.js";
import { advance, following, isDesk, open } from "./desk.js";
import { one, parseAll, write } from "./dom.js";
import { post } from "./post.js";
import { takeRow } from "./rows.js";
import { unanswered } from "./tabs.js";
import { holds } from "./undo.js";
import { say } from "./words.js";

export const flash = (text) => write(one("[data-flash]"), text);

export async function send(event) {
  const form = event.target.closest("article form");
  if (!form) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  // All of it is answered before any of it is sent.
  if (form.matches("[data-answer]") && unanswered(form)) return;
  const card = form.closest("article");
  // Pressed twice, it is sent once; the form's own key would make it one answer anyway.
  if (card.ariaBusy === "true") return;
  const filled = new FormData(form, event.submitter);
  if (holds(form)) filled.set("hold", "1");
  const brings = filled.getAll("file").some(({ size }) => size);
  if (!brings) filled.delete("file");
  // On its way before the card changes: nothing has to be laid out first.
  const sent = post(form.action, brings ? filled : new URLSearchParams(filled));
  sending(card, true);
  note(card, "");
  try {
    const { ok, text } = await sent;
    if (!ok) return note(card, text);
    const found = parseAll(text);
    const fresh = found.querySelector("article");
    const mine = !("lost" in fresh.dataset);
    const next = following(fresh.dataset.id);
    takeRow(found.querySelector(".row"), { mine });
    take(fresh, { mine });
    if (mine && form.matches("[data-undo]") && isDesk) open(fresh.dataset.id);
    const moved = mine && advance(fresh, next);
    // The line with Undo says it, and stays as long as it can be undone.
    return flash(moved && fresh.matches(".held") ? "" : fresh.dataset.said ?? "");
  } catch {
    return note(card, say("js.failed"));
  } finally {
    sending(card, false);
  }
}
