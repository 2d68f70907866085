// A decision that was made with a key can be undone: the server holds it for some seconds.
import { isTyping } from "./hands.js";

let byKey = false;
addEventListener("keydown", () => { byKey = true; }, true);
addEventListener("pointerdown", () => { byKey = false; }, true);

/** Whether what is sent with a form is to be held: a key decided, and not at the end of something written. */
export const holds = (form) => byKey && form.matches("[data-answer]") && !isTyping(document.activeElement);
