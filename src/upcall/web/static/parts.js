// How much of a long diff was on the screen: "3 of 9 parts seen", beside the decision.
import { all } from "./dom.js";
import { say } from "./words.js";

const seen = new Map();
const parts = (card) => all("[data-part]", card);

function tell(card) {
  const line = card.querySelector("[data-parts]");
  const of = parts(card).length;
  if (!line) return;
  line.hidden = of < 2;
  line.textContent = say("js.parts", { n: seen.get(card.id)?.size ?? 0, of });
}

// What the decision covers at the lower edge was not seen.
const looking = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    const card = isIntersecting && target.closest("article");
    if (!card) continue;
    seen.set(card.id, (seen.get(card.id) ?? new Set()).add(parts(card).indexOf(target)));
    tell(card);
  }
}, { rootMargin: "0px 0px -80px 0px" });

export function count(card) {
  for (const part of parts(card)) looking.observe(part);
  tell(card);
}
