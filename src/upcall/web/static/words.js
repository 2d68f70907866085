// Sentences come with the page, in the reader's language.
const known = JSON.parse(document.body.dataset.words ?? "{}");

export function say(name, gaps = {}) {
  return (known[name] ?? "").replace(/\{(\w+)\}/g, (_, gap) => gaps[gap] ?? "");
}
