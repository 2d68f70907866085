// A long list is drawn in parts: the next one comes from the server when the end of the list is near.
import { tidy } from "./cards.js";
import { all, one, parseAll } from "./dom.js";
import { takeOlder } from "./rows.js";

const NEAR = "1200px";

async function fetched(link) {
  link.removeAttribute("data-more");
  const reply = await fetch(link.href, { cache: "no-store" });
  if (!reply.ok) return;
  const page = parseAll(await reply.text());
  takeOlder(all('[data-rows]:not([data-rows="settled"]) .row', page));
  tidy();
  const next = page.querySelector("[data-more]");
  if (next) {
    link.replaceWith(next);
    looking.observe(next);
  } else link.parentElement.remove();
}

const looking = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    // If the request fails, the link still works by hand.
    if (isIntersecting && "more" in target.dataset) fetched(target).catch(() => {});
  }
}, { rootMargin: NEAR, scrollMargin: NEAR });

const link = one("[data-more]");
if (link) looking.observe(link);
