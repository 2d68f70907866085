// Comments on a plan: the number of a line, or a passage that is selected, begins one. Without this script they are typed.
import { all, one } from "./dom.js";

function begin(card, lead) {
  const field = one("[data-comments]", card);
  const before = field.value.trimEnd();
  field.value = `${before}${before && "\n\n"}${lead}`;
  field.focus();
  // What is half written is kept.
  field.dispatchEvent(new Event("input", { bubbles: true }));
}

function selected(card) {
  const selection = getSelection();
  const plan = selection.anchorNode?.parentElement?.closest("[data-plan]");
  return card.contains(plan) ? String(selection).trim() : "";
}

document.addEventListener("selectionchange", () => {
  for (const button of all("[data-quote]")) button.hidden = !selected(button.closest("article"));
});
// The selection stays while the button is pressed.
addEventListener("pointerdown", (event) => {
  if (event.target.closest?.("[data-quote]")) event.preventDefault();
});
addEventListener("click", (event) => {
  const control = event.target.closest?.("[data-line], [data-quote]");
  const card = control?.closest("article");
  if (!card) return;
  event.preventDefault();
  const { line } = control.dataset;
  begin(card, line ? `L${line}: ` : `${selected(card).replace(/^/gm, "> ")}\n`);
});
