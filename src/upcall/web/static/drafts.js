// What was half filled in survives a reload: it is kept in the tab's own storage, by question.
const key = (form) => `draft:${form.closest("article").dataset.id}`;

function read(form) {
  const filled = [...new FormData(form)].filter(([name]) => /^([qt]\d+|note)$/.test(name));
  return filled.filter(([, value]) => value !== "");
}

export const hasDraft = (card) => {
  const form = card.querySelector("[data-answer]");
  const reason = card.querySelector("textarea[name=reason]");
  return Boolean(form && (read(form).length || form.elements.file?.files.length)) || Boolean(reason?.value);
};

export const draftText = (card) =>
  [...card.querySelectorAll("form:not([data-secret]) textarea")].map((field) => field.value.trim()).filter(Boolean).join("\n");

export function keep(form) {
  // What is meant to be kept out of lists is kept out of storage, too.
  if ("secret" in form.dataset) return;
  const filled = read(form);
  try {
    if (filled.length) sessionStorage.setItem(key(form), JSON.stringify(filled));
    else sessionStorage.removeItem(key(form));
  } catch { /* a browser that keeps nothing */ }
}

export function forget(card) {
  try {
    sessionStorage.removeItem(`draft:${card.dataset.id}`);
  } catch { /* see above */ }
}

export function restore(card) {
  const form = card.querySelector("[data-answer]");
  if (!form) return;
  let filled = [];
  try {
    filled = JSON.parse(sessionStorage.getItem(key(form)) ?? "[]");
  } catch { /* see above */ }
  for (const [name, value] of filled) {
    for (const field of form.elements) {
      if (field.name !== name) continue;
      if (field.type === "radio" || field.type === "checkbox") field.checked ||= field.value === value;
      else field.value = value;
    }
  }
}
