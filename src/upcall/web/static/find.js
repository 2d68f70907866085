// Ctrl-K, or Command-K, finds any question, run or command: what is typed goes to the server, and links come back.
import { all, one } from "./dom.js";
import { get } from "./post.js";

const dialog = one("[data-find]");
const field = dialog.querySelector("input");
const found = dialog.querySelector("[data-found]");
const STEPS = { ArrowDown: 1, ArrowUp: -1 };
const asks = () => one("article.card:not(.settled):not([hidden])");
const choices = () => all("li:not([hidden]) > *", found);
let asked = 0;
let latest;
let shown;

async function find() {
  asked += 1;
  const mine = asked;
  const { ok, text } = await get(`/find?${new URLSearchParams({ q: field.value })}`);
  if (!ok || mine !== asked) return;
  if (text !== shown) {
    // A choice that another takes the place of is not under the person's hands any more.
    const held = found.contains(document.activeElement);
    found.innerHTML = text;
    shown = text;
    if (held) field.focus();
  }
  for (const command of all("[data-command]", found)) command.hidden = !asks();
}

// Without a connection the list stays as it is.
const renew = () => { latest = find().catch(() => {}); };

function summon(event) {
  if (!(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey || event.key.toLowerCase() !== "k") return undefined;
  const other = one("dialog[open]");
  if (other && other !== dialog) return undefined;
  event.preventDefault();
  if (other) return dialog.close();
  dialog.showModal();
  field.select();
  return renew();
}

async function steer(event) {
  const { key } = event;
  const places = [field, ...choices()];
  if (STEPS[key]) {
    event.preventDefault();
    places[(places.indexOf(document.activeElement) + STEPS[key] + places.length) % places.length].focus();
  }
  if (key !== "Enter" || document.activeElement !== field || event.isComposing) return;
  event.preventDefault();
  // What is found for the words that stand there, not for those before them.
  await latest;
  choices()[0]?.click();
}

function press({ target }) {
  if (target === dialog) dialog.close();
  const key = target.closest("[data-press]")?.dataset.press;
  if (!key) return;
  dialog.close();
  const card = document.activeElement.closest("article") ?? asks();
  card?.focus();
  card?.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
}

document.addEventListener("keydown", summon);
dialog.addEventListener("keydown", steer);
dialog.addEventListener("click", press);
field.addEventListener("input", renew);
