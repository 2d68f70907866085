// The field below a thread. An earlier part of a thread has none: words answer nothing that is not in sight.
import { byId, one, parseAll, write } from "./dom.js";
import { recall, remember } from "./drafts.js";
import { CALM, isTyping } from "./hands.js";
import { post } from "./post.js";
import { drawnAt } from "./shown.js";
import { say } from "./words.js";

const form = one("[data-compose]");
const field = form?.elements.text;
const list = one("[data-items]");
const key = `draft:thread:${form?.dataset.thread}`;

const note = (text) => write(one("[data-note]", form), text);

/** The name of the sentence that says why these words must not answer the open question now; empty if they may. */
function refusal() {
  const card = byId(`i-${form.elements.prompt_id.value.replace("prm_", "")}`);
  if (card?.matches(".approval") && performance.now() < drawnAt(card)) return "js.whole";
  if (!hasty) return "";
  hasty = false;
  return "js.changed";
}

async function submit(event) {
  event.preventDefault();
  if (form.ariaBusy === "true") return;
  const why = refusal();
  if (why) return note(say(why));
  form.ariaBusy = "true";
  note("");
  try {
    const { ok, text } = await post(form.action, new URLSearchParams(new FormData(form)));
    if (!ok) return note(text);
    field.value = "";
    begun = false;
    remember(key);
    // The next message is another one.
    form.elements.key.value = crypto.getRandomValues(new Uint32Array(4)).join("-");
    return compose(text);
  } catch {
    return note(say("js.failed"));
  } finally {
    form.ariaBusy = null;
  }
}

let later = "";
let changedAt = -CALM;
let begun = false;
let hasty = false;

export const isHere = Boolean(form);

export function compose(html) {
  const fresh = parseAll(html).querySelector("[data-composing]");
  // What the agent has taken up waits no more.
  for (const chip of list.querySelectorAll("[data-queued]")) {
    if (Number(chip.closest("li").dataset.seq) <= Number(fresh.dataset.taken)) chip.remove();
  }
  // Words are for what stood there when they were begun, and for nothing that has come since.
  later = field.value.trim() ? html : "";
  if (later) return;
  const state = form.querySelector("[data-composing-state]");
  if (fresh.dataset.prompt && form.elements.prompt_id.value !== fresh.dataset.prompt) changedAt = performance.now();
  form.elements.prompt_id.value = fresh.dataset.prompt;
  // The same sentence is not read out again.
  if (fresh.dataset.composing === state.querySelector("[data-composing]").dataset.composing) return;
  state.replaceChildren(fresh);
}

function begin() {
  field.value ||= recall(key) ?? "";
  form.addEventListener("submit", submit);
  field.addEventListener("input", ({ timeStamp }) => {
    remember(key, field.value);
    // Words begun right after another question came were meant for what stood there before.
    if (!begun) hasty = timeStamp - changedAt < CALM;
    begun = field.value !== "";
    if (later && !field.value.trim()) compose(later);
  });
  document.addEventListener("keydown", (event) => {
    const held = event.ctrlKey || event.metaKey;
    if (event.target === field) {
      if (event.key === "Enter" && held && !event.isComposing) form.requestSubmit();
      if (event.key === "Escape") field.blur();
    } else if (event.key === "c" && !held && !event.altKey && !isTyping(event.target)) {
      event.preventDefault();
      field.focus();
    }
  });
}

if (form) begin();
