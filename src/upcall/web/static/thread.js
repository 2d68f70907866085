// A thread, kept up to date: items are added at the end, the question's card is replaced, what is being written stays.
import { compose, isHere } from "./composer.js";
import { byId, one, parseAll } from "./dom.js";
import { restore } from "./drafts.js";
import { changed } from "./hands.js";
import { live } from "./inbox.js";
import { watch } from "./shown.js";
import { follow } from "./stream.js";

const list = one("[data-items]");

function put(html) {
  const fresh = parseAll(html).querySelector("li");
  if (byId(fresh.id)) return;
  // A reader further up is not moved; a reader at the end stays at the end.
  const atEnd = innerHeight + scrollY >= document.documentElement.scrollHeight - 80;
  list.append(fresh);
  one("[data-none]").hidden = true;
  for (const card of fresh.querySelectorAll("article")) {
    restore(card);
    watch(card);
  }
  if (!atEnd) return;
  changed();
  scrollTo({ top: document.documentElement.scrollHeight });
}

const hear = live();
// A conversation is read from its end; an address with a position is an earlier part of it, to which nothing is added.
if (isHere && !location.search) scrollTo({ top: document.documentElement.scrollHeight });
follow((news) => {
  if (news.kind === "item") isHere && put(news.html);
  else if (news.kind === "composer") isHere && compose(news.html);
  else hear(news);
});
