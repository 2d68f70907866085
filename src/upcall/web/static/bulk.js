// Decides about several at once, without leaving the page: exactly those that were selected when it was unfolded.
import { following, open, shown } from "./desk.js";
import { all, one, parseAll } from "./dom.js";
import { post } from "./post.js";
import { takeRow } from "./rows.js";
import { flash } from "./send.js";
import { say } from "./words.js";

const seen = new Set();
const place = one("[data-held]");

/** The line with Undo, as long as it can be undone. */
function put(line) {
  if (!line) return;
  place.append(line);
  setTimeout(() => line.remove(), line.dataset.for * 1000);
}

async function decide(event) {
  const form = event.target.closest("[data-bulk]");
  if (!form) return undefined;
  event.preventDefault();
  event.stopImmediatePropagation();
  if (form.ariaBusy || event.submitter?.formMethod === "dialog") return undefined;
  const body = new URLSearchParams(new FormData(form, event.submitter));
  form.ariaBusy = true;
  try {
    const { ok, text } = await post(form.action, body);
    if (!ok) return flash(text);
    const found = parseAll(text);
    for (const row of found.querySelectorAll(".row")) takeRow(row, { mine: true });
    if (form.parentElement === place) form.remove();
    put(found.querySelector("[data-bulk]"));
    const id = shown()?.dataset.id;
    const next = body.get("verdict") !== "undo" && body.getAll("id").includes(id) && following(id);
    if (next) open(next, { focus: false, byItself: true });
    return flash(all("[data-said] li", found).map((line) => line.textContent).join(" "));
  } catch {
    return flash(say("js.failed"));
  } finally {
    form.ariaBusy = null;
  }
}

/** What is unfolded is seen, all of it; what a person has left out stays so when it is unfolded again. */
function unfolded({ target }) {
  if (!target.open || !target.matches("[data-batch] > details")) return;
  for (const box of target.querySelectorAll(".row > input:enabled")) {
    box.checked ||= !seen.has(box.value);
    seen.add(box.value);
  }
}

document.addEventListener("submit", decide, true);
document.addEventListener("toggle", unfolded, true);
