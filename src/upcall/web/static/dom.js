// What every script says to the page: find, parse, put a line, wait until there is time.
export const one = (selector, within = document) => within.querySelector(selector);
export const all = (selector, within = document) => [...within.querySelectorAll(selector)];
export const byId = (id) => document.getElementById(id);
/** Wide enough for a question beside the list; the list then scrolls by itself. */
export const wide = matchMedia("(min-width: 1100px)");
export const idle = window.requestIdleCallback ?? ((task) => setTimeout(task, 50)); // Safari

export function parseAll(html) {
  const holder = document.createElement("template");
  holder.innerHTML = html;
  return holder.content;
}

/** A line says this, or is not there. */
export function write(line, text) {
  line.textContent = text;
  line.hidden = !text;
}
