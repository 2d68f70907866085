// Times that stay true while the page is open: <upcall-time data-at="seconds" data-as="blocked">.
import { all } from "./dom.js";
import { say } from "./words.js";

const EVERY = 5_000;
const SOON = 300;
const MATTERS = 3600;
// The browser's clock may be wrong; the daemon's is the one that counts.
const ahead = Date.now() / 1000 - Number(document.body.dataset.now ?? Date.now() / 1000);
// The page's language, written as where the reader is: a British noon is no American one.
const { lang } = document.documentElement;
const place = navigator.languages.find((known) => known.split("-")[0] === lang.split("-")[0]) ?? lang;
const hours = new Intl.DateTimeFormat(place, { timeStyle: "short" });
const days = new Intl.DateTimeFormat(place, { dateStyle: "medium", timeStyle: "short" });

export const now = () => Date.now() / 1000 - ahead;

function age(seconds) {
  const whole = Math.max(Math.floor(seconds), 0);
  if (whole < 60) return say("age.seconds", { n: whole });
  if (whole < 3600) return say("age.minutes", { n: Math.floor(whole / 60) });
  if (whole < 2 * 86400) return say("age.hours", { n: Math.floor(whole / 3600) });
  return say("age.days", { n: Math.floor(whole / 86400) });
}

function moment(at) {
  const then = new Date(at * 1000);
  return then.toDateString() === new Date().toDateString() ? hours.format(then) : days.format(then);
}

class Time extends HTMLElement {
  connectedCallback() {
    this.show();
  }

  show() {
    const at = Number(this.dataset.at);
    const as = this.dataset.as;
    const span = as === "left" || as === "quiet" ? at - now() : now() - at;
    const text = as === "moment" ? moment(at) : say(`time.${as}`, { age: age(span) });
    if (this.textContent !== text) this.textContent = text;
    if (as !== "left") return;
    this.classList.toggle("soon", span < SOON);
    this.hidden = span > MATTERS;
  }
}

customElements.define("upcall-time", Time);
setInterval(() => all("upcall-time").forEach((time) => time.show()), EVERY);
