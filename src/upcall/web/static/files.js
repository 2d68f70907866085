// Pictures and files for an answer: chosen, pasted or dropped. The field of the form holds them.
import { one } from "./dom.js";

const FIELD = "article.card:not([hidden]) [data-files]";
const fieldFor = ({ target }) => target.closest?.("article")?.querySelector("[data-files]") ?? one(FIELD);

function show(field) {
  const [line, button] = field.closest("p").querySelectorAll("[data-brought], [data-unbring]");
  line.dataset.hint ??= line.textContent;
  const names = [...field.files].map(({ name }) => name).join(", ");
  line.textContent = names || line.dataset.hint;
  button.hidden = !names;
}

/** Adds what a person pastes or drops on a card to what was chosen before. */
function take(event, { files }) {
  const field = files.length && fieldFor(event);
  if (!field) return;
  event.preventDefault();
  const all = new DataTransfer();
  for (const file of [...field.files, ...files]) all.items.add(file);
  field.files = all.files;
  show(field);
}

// A table that is copied is a picture as well, and was meant as text.
addEventListener("paste", (event) => { if (!event.clipboardData.types.includes("text/plain")) take(event, event.clipboardData); });
addEventListener("drop", (event) => take(event, event.dataTransfer));
addEventListener("dragover", (event) => { if (event.dataTransfer.types.includes("Files") && fieldFor(event)) event.preventDefault(); });
addEventListener("change", ({ target }) => { if (target.matches("[data-files]")) show(target); });
addEventListener("click", ({ target }) => {
  if (!target.matches("[data-unbring]")) return;
  const field = target.form.elements.file;
  field.value = "";
  show(field);
});
