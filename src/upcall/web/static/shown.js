// What was on the screen: the daemon is told of questions in a tab that could be seen, and keys go by what was drawn.
import { all, one } from "./dom.js";
import { changed } from "./hands.js";
import { count } from "./parts.js";
import { post } from "./post.js";
import { begin } from "./tabs.js";

const PAUSE = 1_000;
const ENDS = ".question, .end";
const told = new Set();
const drawn = new WeakMap();
let timer;

async function tell() {
  timer = undefined;
  if (document.hidden) return;
  const cards = all("article.card.open[data-onscreen]").filter((card) => !told.has(card.dataset.id));
  if (!cards.length) return;
  const body = new URLSearchParams({ token: one("input[name=token]").value });
  for (const card of cards) {
    told.add(card.dataset.id);
    body.append("id", card.dataset.id);
  }
  try {
    await post("/inbox/shown", body);
  } catch {
    for (const card of cards) told.delete(card.dataset.id);
  }
}

const soon = () => { timer ??= setTimeout(tell, PAUSE); };

function seen({ target, isIntersecting, intersectionRatio }) {
  if (target.matches(ENDS)) {
    // The observer speaks before the frame is painted.
    if (intersectionRatio > 0.9 && !drawn.has(target)) setTimeout(() => drawn.set(target, performance.now()));
    return;
  }
  target.toggleAttribute("data-onscreen", isIntersecting);
  if ("news" in target.dataset) {
    delete target.dataset.news;
    if (isIntersecting) changed();
  }
}

const looking = new IntersectionObserver((entries) => {
  entries.forEach(seen);
  soon();
}, { threshold: [0, 0.95] });
document.addEventListener("visibilitychange", soon);

/** Since when the beginning and the end of a card have both been on the screen. */
export const drawnAt = (card) => Math.max(...all(ENDS, card).map((end) => drawn.get(end) ?? Infinity));

/** Looks after what is on the screen: a card, its beginning and its end, or a row. */
export function watch(card) {
  count(card);
  begin(card);
  for (const part of [card, ...card.querySelectorAll(ENDS)]) looking.observe(part);
}
