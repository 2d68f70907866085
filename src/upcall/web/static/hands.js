// May this key act on this card now? A key is the word of a person about what was on the screen when it was pressed:
// no key acts after a card was closed under the hands until Esc or a click, none within 800 ms of a change that this
// person did not make, none while it is only held down, and none decides an approval that was not drawn whole before.
// A click is for the button that the pointer was moved to, not for one that a change has moved below the pointer.
import { isTyping } from "./places.js";
import { drawnAt } from "./shown.js";

export const CALM = 800;
const CONTROLS = ":is(article, .batch, .controls) :is(button, summary)";
let changedAt = -CALM;
let cameAt = -CALM;
let taken = false;
let pressed;

export { isTyping };

/** Something on the screen is different now, and not by this person's doing. */
export const changed = () => { changedAt = performance.now(); };

/** A card has opened by itself, after this person has sent another. */
export const came = () => { cameAt = performance.now(); };

/** Whether a card has just opened by itself: a key that goes on makes it the one that this person has chosen. */
export function takeUp() {
  const fresh = performance.now() - cameAt < CALM;
  cameAt = -CALM;
  return fresh;
}

const isCalm = (at) => at - Math.max(changedAt, cameAt) >= CALM;

/** The focus rests here by no doing of this person: what is still being typed was meant for something else. */
export const takeAway = () => { taken = true; };

const giveBack = () => { taken = false; };

/** Whether a key would do something to a card, other than write in it. */
function acts({ target, key, ctrlKey, metaKey, altKey }) {
  const held = ctrlKey || metaKey;
  if (key === "Enter") return target.closest("article") && (held || !isTyping(target));
  if (isTyping(target)) return false;
  if (key === " ") return target.matches("article :is(button, summary, input)");
  return key.length === 1 && !held && !altKey;
}

/** The name of the sentence that says why this key must not act; empty if it may. */
export function refusal(event) {
  const { target, key } = event;
  if (key === "Escape") giveBack();
  pressed = target;
  if (!acts(event) || (target.matches("[data-copy]") && " Enter".includes(key))) return "";
  pressed = undefined;
  if (taken) return "js.closed";
  const moves = "jk/?gu".includes(key);
  // A key that is held down was pressed for what was there before; of that there is nothing to say.
  if (event.repeat && !moves) return "js.held";
  if (!isCalm(event.timeStamp) && !moves) return "js.changed";
  const approval = target.closest("article:is(.approval, .plan):not(.settled)");
  if (approval && !moves && !"se".includes(key) && event.timeStamp < drawnAt(approval)) return "js.whole";
  pressed = target;
  return "";
}

// Browsers press a button when the space bar is let go: only where it went down, and was allowed to.
addEventListener("keyup", (event) => {
  if (event.key === " " && event.target.matches?.("article *") && event.target !== pressed) event.preventDefault();
}, true);

let aim;
addEventListener("pointermove", ({ target, clientX, clientY, pointerType }) => {
  // The same place again is the page that moves, not the hand; a finger is nowhere before it presses.
  if (pointerType === "touch" || (aim?.clientX === clientX && aim.clientY === clientY)) return;
  aim = { clientX, clientY, control: target.closest?.(CONTROLS) };
}, true);
addEventListener("pointerdown", ({ pointerType }) => {
  giveBack();
  if (pointerType === "touch") aim = undefined;
}, true);

/** The same for a click: on a button that a change has just moved below the pointer. A key's click has no detail. */
export function misses({ target, detail, timeStamp }) {
  const control = detail && target.closest(CONTROLS);
  return control && control !== aim?.control && !isCalm(timeStamp) ? "js.changed" : "";
}

// The second press of a double click is for the card of the first, also where another has moved below the pointer.
let clicked;
addEventListener("click", (event) => {
  const card = event.target.closest("article")?.id;
  if (event.detail < 2) clicked = card;
  else if (card && card !== clicked) {
    event.preventDefault();
    event.stopImmediatePropagation();
  }
}, true);
