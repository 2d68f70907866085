// Decides about several at once, without leaving the page: exactly those that were selected when it was unfolded.
import { parseAll } from "./cards.js";
import { following, open, shown } from "./desk.js";
import { post } from "./post.js";
import { takeRow } from "./rows.js";
import { flash } from "./send.js";
import { say } from "./words.js";

const place = document.querySelector("[data-held]");

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
  if (form.getAttribute("aria-busy") === "true") return undefined;
  const body = new URLSearchParams(new FormData(form, event.submitter));
  form.setAttribute("aria-busy", true);
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
    return flash([...found.querySelectorAll("[data-said] li")].map((line) => line.textContent).join(" "));
  } catch {
    return flash(say("js.failed"));
  } finally {
    form.removeAttribute("aria-busy");
  }
}

/** What is unfolded is seen, all of it. */
function unfolded({ target }) {
  if (target.open && target.matches("[data-batch] > details")) for (const box of target.querySelectorAll(".row > input:enabled")) box.checked = true;
}

document.addEventListener("submit", decide, true);
document.addEventListener("toggle", unfolded, true);
