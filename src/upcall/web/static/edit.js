// What a person has changed about an action, while they change it: of each field what goes and what comes.
// Without this script the difference is shown with the decision.
import { all, one } from "./dom.js";

const parts = (text) => text.match(/\s|[^\s]+/g) ?? [];

function marked(name, words) {
  const mark = document.createElement(name);
  mark.textContent = words.join("");
  return mark;
}

/** The lines that differ: with what both begin, what goes, what comes, and with what both end. */
function difference(before, after) {
  const [old, now] = [parts(before), parts(after)];
  const most = Math.min(old.length, now.length);
  let start = 0;
  while (start < most && old[start] === now[start]) start += 1;
  let end = 0;
  while (end < most - start && old.at(-1 - end) === now.at(-1 - end)) end += 1;
  const left = old.slice(0, start).join("");
  const right = old.slice(old.length - end).join("");
  return [
    left.slice(left.lastIndexOf("\n") + 1),
    marked("del", old.slice(start, old.length - end)),
    marked("ins", now.slice(start, now.length - end)),
    right.split("\n")[0],
  ];
}

function tell(field) {
  const line = one(`#${field.id} + [data-differs]`, field.form);
  line.hidden = field.value === field.defaultValue;
  line.replaceChildren(...(line.hidden ? [] : difference(field.defaultValue, field.value)));
}

const fields = "[data-edit] textarea";
addEventListener("input", ({ target }) => { if (target.matches(fields)) tell(target); });
// A draft that was kept is there when its fields are.
addEventListener("toggle", ({ target }) => all(fields, target.parentElement).forEach(tell), true);
