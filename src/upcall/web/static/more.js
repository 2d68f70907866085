// A long list is drawn as far as somebody looks: the rest comes from the server when its end is near.
import { parseAll, takeOlder } from "./cards.js";

const NEAR = "1200px";

async function fetched(link) {
  link.removeAttribute("data-more");
  const reply = await fetch(link.href, { cache: "no-store" });
  if (!reply.ok) return;
  const page = parseAll(await reply.text());
  takeOlder([...page.querySelectorAll('[data-list="open"] > article, [data-list="snoozed"] > article')]);
  const next = page.querySelector("[data-more]");
  if (next) {
    link.replaceWith(next);
    looking.observe(next);
  } else link.parentElement.remove();
}

const looking = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    // Whatever goes wrong, the link is still one.
    if (isIntersecting && "more" in target.dataset) fetched(target).catch(() => {});
  }
}, { rootMargin: NEAR });

const link = document.querySelector("[data-more]");
if (link) looking.observe(link);
