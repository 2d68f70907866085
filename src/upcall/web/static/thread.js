// A thread, kept up to date: items are added at the end, the question's card is replaced, what is being written stays.
import { show } from "./badge.js";
import { parse, take } from "./cards.js";
import { keep, restore } from "./drafts.js";
import { press } from "./keys.js";
import { flash, send } from "./send.js";
import { follow } from "./stream.js";
import { say } from "./words.js";
import "./times.js";

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
  const holder = document.createElement("template");
  holder.innerHTML = html;
  const fresh = holder.content.querySelector("li");
  if (document.getElementById(fresh.id)) return;
  // Whoever reads something further up is not moved; whoever is at the end stays there.
  const atEnd = innerHeight + scrollY >= document.documentElement.scrollHeight - 80;
  list.append(fresh);
  document.querySelector("[data-none]").hidden = true;
  for (const card of fresh.querySelectorAll("article")) restore(card);
  if (atEnd) scrollTo({ top: document.documentElement.scrollHeight });
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

function compose(html) {
  const holder = document.createElement("template");
  holder.innerHTML = html;
  const state = form.querySelector("[data-composing-state]");
  const fresh = holder.content.querySelector("[data-composing]");
  // The same sentence is not read out again.
  if (fresh.dataset.composing === state.querySelector("[data-composing]").dataset.composing) return;
  state.replaceChildren(fresh);
}

try {
  field.value ||= sessionStorage.getItem(key) ?? "";
} catch { /* see above */ }
for (const card of document.querySelectorAll("article.card")) restore(card);
show(Number(document.querySelector("[data-count]").textContent));
form.addEventListener("submit", post);
field.addEventListener("input", () => remember(field.value));
document.addEventListener("submit", send);
document.addEventListener("keydown", (event) => {
  if (event.target === field) {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !event.isComposing) form.requestSubmit();
    if (event.key === "Escape") field.blur();
    return;
  }
  const typing = event.target.matches("textarea, input[type=search]");
  if (event.key === "c" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    field.focus();
    return;
  }
  press(event);
});
document.addEventListener("input", ({ target }) => {
  const answer = target.closest("[data-answer]");
  if (!answer) return;
  if (target.matches("[data-own]") && target.value) target.closest(".option").querySelector("[data-other]").checked = true;
  if (target.matches("[data-other]")) target.closest(".option").querySelector("textarea").focus();
  flash("");
  keep(answer);
});

follow((news) => {
  if (news.kind === "item") put(news.html);
  if (news.kind === "composer") compose(news.html);
  if (news.kind === "card") take(parse(news.html));
  if (news.kind === "count") show(news.count);
  if (news.kind === "reset") location.reload();
  if (news.kind === "state") {
    document.querySelector("[data-offline]").hidden = news.connected;
    document.body.dataset.connected = news.connected;
  }
});
