// Tells the daemon which questions were on the screen, in a tab that somebody could see.
const PAUSE = 1_000;
const told = new Set();
let timer;

async function tell() {
  timer = undefined;
  if (document.hidden) return;
  const cards = [...document.querySelectorAll("article.card.open[data-onscreen]")].filter((card) => !told.has(card.dataset.id));
  if (!cards.length) return;
  const body = new URLSearchParams({ token: document.querySelector("input[name=token]").value });
  for (const card of cards) {
    told.add(card.dataset.id);
    body.append("id", card.dataset.id);
  }
  try {
    await fetch("/inbox/shown", { method: "POST", headers: { "X-Upcall-Fragment": "1" }, body });
  } catch {
    for (const card of cards) told.delete(card.dataset.id);
  }
}

const soon = () => { timer ??= setTimeout(tell, PAUSE); };
const looking = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) target.toggleAttribute("data-onscreen", isIntersecting);
  soon();
});
document.addEventListener("visibilitychange", soon);

export const watch = (card) => looking.observe(card);
