// A form of several questions, one at a time: a tab for each, and a line with what is chosen so far. Without scripts all are there.
import { all, one, write } from "./dom.js";

const questions = (form) => all("fieldset", form);
const tabs = (form) => all("[data-tab]", form);

function chosen(question) {
  const labels = all("input:checked:not([data-other])", question).map((input) => one("bdi", input.parentElement).textContent);
  return [...labels, ...all("textarea", question).map(({ value }) => value.trim())].filter(Boolean).join(", ");
}

function turn(form, place) {
  questions(form).forEach((question, at) => { question.hidden = at !== place; });
  tabs(form).forEach((tab, at) => { tab.ariaCurrent = at === place ? "step" : null; });
}

/** Says what is chosen so far; of a secret, that there is something. */
export function review(form) {
  const line = one("[data-review]", form);
  if (!line) return;
  const said = tabs(form).map((tab, at) => {
    const text = chosen(questions(form)[at]);
    tab.toggleAttribute("data-done", text !== "");
    return `${tab.textContent}: ${text && "secret" in form.dataset ? "✓" : text || "…"}`;
  });
  write(line, said.join(" · "));
}

/** Turns to the first question that is not answered yet; whether there is one. */
export function unanswered(form) {
  const place = one("[data-tabs]", form) ? questions(form).findIndex((question) => !chosen(question)) : -1;
  if (place < 0) return false;
  turn(form, place);
  one("input, textarea", questions(form)[place]).focus();
  return true;
}

/** Shows the first question of a form of several. */
export function begin(card) {
  const bar = one("[data-tabs]", card);
  if (!bar) return;
  const form = bar.closest("form");
  bar.hidden = false;
  turn(form, 0);
  review(form);
}

document.addEventListener("click", ({ target }) => {
  const tab = target.closest("[data-tab]");
  if (tab) turn(tab.form, Number(tab.dataset.tab));
});
