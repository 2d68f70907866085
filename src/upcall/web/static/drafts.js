// What was half filled in survives a reload and a new sign-in, also in another tab: this browser keeps it for a week.
import { all } from "./dom.js";

const WEEK = 7 * 86_400_000;
const FIELDS = /^([qt]\d+|note|reason)$/;
const key = (card) => `draft:${card.dataset.id}`;

// The fields of an action, and those of a form with defaults, have something in them before a person changes it.
const isPreset = (field) => field.closest("[data-preset], [data-edit]");
const isChanged = (field) => field.value !== field.defaultValue || field.checked !== field.defaultChecked;
const isFilled = (field) => FIELDS.test(field.name) && (/radio|checkbox/.test(field.type) ? field.checked : field.value);
const isKept = (field) => field.matches("input, textarea") && (isPreset(field) ? isChanged(field) : isFilled(field));
const read = (form) => [...form.elements].filter(isKept).map(({ name, value, checked }) => [name, value, checked]);
const forms = (card) => all("form", card);

export const hasDraft = (card) => forms(card).some((form) => read(form).length || form.elements.file?.files.length);

export const draftText = (card) =>
  all("form:not([data-secret]) textarea", card).filter((field) => !isPreset(field) || isChanged(field)).map((field) => field.value.trim()).filter(Boolean).join("\n");

/** Keeps a value under a name, or forgets it if there is none. */
export function remember(name, value) {
  try {
    if (value?.length) localStorage.setItem(name, JSON.stringify({ at: Date.now(), value }));
    else localStorage.removeItem(name);
  } catch { /* a browser that keeps nothing */ }
}

export function recall(name) {
  try {
    return JSON.parse(localStorage.getItem(name))?.value;
  } catch {
    return undefined;
  }
}

/** Forgets what is too old to be sent any more; at a sign-out, everything. */
function tidy(oldest) {
  try {
    for (const name of Object.keys(localStorage)) {
      if (name.startsWith("draft:") && !(JSON.parse(localStorage.getItem(name)).at > oldest)) localStorage.removeItem(name);
    }
  } catch { /* see above */ }
}

tidy(Date.now() - WEEK);
addEventListener("submit", ({ target }) => { if (target.matches("[action='/sign-out']")) tidy(Infinity); });

// What is meant to be kept out of lists is kept out of storage, too.
export const keep = (card) => {
  if (!card.querySelector("[data-secret]")) remember(key(card), forms(card).flatMap(read));
};

export const forget = (card) => remember(key(card));

export function restore(card) {
  if (!card.querySelector("[data-answer]")) return;
  for (const [name, value, checked] of recall(key(card)) ?? []) {
    for (const field of forms(card).flatMap(({ elements }) => [...elements])) {
      if (field.name !== name) continue;
      if (field.type === "radio" || field.type === "checkbox") field.checked = field.value === value ? checked ?? true : field.checked;
      else field.value = value;
      field.closest("[data-reject], [data-edit]")?.setAttribute("open", "");
    }
  }
}
