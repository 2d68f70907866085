// A decision that was made with a key can be undone: the server holds it for some seconds.
import { all, byId, one } from "./dom.js";
import { isTyping } from "./hands.js";

const pane = one("[data-pane]");
const place = one("[data-held]");

let byKey = false;
addEventListener("keydown", () => { byKey = true; }, true);
addEventListener("pointerdown", () => { byKey = false; }, true);

/** Whether what is sent with a form is to be held: a key decided, and not at the end of something written. */
export const holds = (form) => byKey && form.matches("[data-answer]") && !isTyping(document.activeElement);

/** What a person has decided stays in view when its card has made room for the next one. */
function line(card) {
  const made = card.querySelector("[data-undo]").cloneNode(true);
  made.dataset.of = card.id;
  // The place is read out, once.
  made.querySelector("[role]").removeAttribute("role");
  made.addEventListener("submit", (event) => {
    event.preventDefault();
    // As its own form is sent, with all that follows from it.
    byId(card.id).querySelector("[data-undo]").requestSubmit();
  });
  return made;
}

function draw() {
  const cards = all(":scope > .held[data-mine][hidden]", pane);
  const known = all("[data-of]", place);
  for (const old of known) if (!cards.some(({ id }) => id === old.dataset.of)) old.remove();
  for (const card of cards) if (!known.some(({ dataset }) => dataset.of === card.id)) place.append(line(card));
}

if (place) new MutationObserver(draw).observe(pane, { childList: true, subtree: true, attributeFilter: ["hidden"] });
