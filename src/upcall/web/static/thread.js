// A thread, kept up to date: items are added at the end, the question's card is replaced, what is being written stays.
import { parseAll } from "./cards.js";
import { restore } from "./drafts.js";
import { changed, isTyping } from "./hands.js";
import { live } from "./inbox.js";
import { watch } from "./shown.js";
import { follow } from "./stream.js";
import { say } from "./words.js";

const form = document.querySelector("[data-compose]");
const field = form.elements.text;
const list = document.querySelector("[data-items]");
const key = `draft:thread:${form.dataset.thread}`;

function remember(text) {
  try {
    if (text) sessionStorage.setItem(key, text);
    else sessionStorage.removeItem(key);
  } catch { /* a browser that keeps nothing */ }
}

function note(text) {
  const line = form.querySelector("[data-note]");
  line.textContent = text;
  line.hidden = !text;
}

function put(html) {
  const fresh = parseAll(html).querySelector("li");
  if (document.getElementById(fresh.id)) return;
  // Whoever reads something further up is not moved; whoever is at the end stays there.
  const atEnd = innerHeight + scrollY >= document.documentElement.scrollHeight - 80;
  list.append(fresh);
  document.querySelector("[data-none]").hidden = true;
  for (const card of fresh.querySelectorAll("article")) {
    restore(card);
    watch(card);
  }
  if (!atEnd) return;
  changed();
  scrollTo({ top: document.documentElement.scrollHeight });
}

async function post(event) {
  event.preventDefault();
  if (form.getAttribute("aria-busy") === "true") return;
  form.setAttribute("aria-busy", "true");
  note("");
  try {
    const reply = await fetch(form.action, {
      method: "POST",
      headers: { "X-Upcall-Fragment": "1" },
      body: new URLSearchParams(new FormData(form)),
    });
    if (reply.status === 401) return location.assign("/sign-in");
    const text = await reply.text();
    if (!reply.ok) return note(text);
    field.value = "";
    remember("");
    // The next message is another one.
    form.elements.key.value = crypto.getRandomValues(new Uint32Array(4)).join("-");
    return compose(text);
  } catch {
    return note(say("js.failed"));
  } finally {
    form.removeAttribute("aria-busy");
  }
}

let later = "";

function compose(html) {
  const fresh = parseAll(html).querySelector("[data-composing]");
  // What the agent has taken up waits no more.
  for (const chip of list.querySelectorAll("[data-queued]")) {
    if (Number(chip.closest("li").dataset.seq) <= Number(fresh.dataset.taken)) chip.remove();
  }
  // Words are for what stood there when they were begun, and for nothing that has come since.
  later = field.value.trim() ? html : "";
  if (later) return;
  const state = form.querySelector("[data-composing-state]");
  form.elements.prompt_id.value = fresh.dataset.prompt;
  // The same sentence is not read out again.
  if (fresh.dataset.composing === state.querySelector("[data-composing]").dataset.composing) return;
  state.replaceChildren(fresh);
}

try {
  field.value ||= sessionStorage.getItem(key) ?? "";
} catch { /* see above */ }
form.addEventListener("submit", post);
field.addEventListener("input", () => {
  remember(field.value);
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

const hear = live();
// A conversation is read from its end, unless somebody went back in it.
if (!location.search) scrollTo({ top: document.documentElement.scrollHeight });
follow((news) => {
  if (news.kind === "item") put(news.html);
  else if (news.kind === "composer") compose(news.html);
  else hear(news);
});
