// Sound and notifications, for those who ask for them: the choice belongs to this browser, so it is kept there.
import { isDesk, open } from "./desk.js";
import { byId, one } from "./dom.js";
import { changed } from "./hands.js";
import { say } from "./words.js";

const { body } = document;
const token = () => one("input[name=token]").value;
const worker = navigator.serviceWorker?.register("/service-worker.js");

function wants(name) {
  try {
    return localStorage.getItem(`upcall-${name}`) === "1";
  } catch {
    return false;
  }
}

function keep(name, chosen) {
  try {
    localStorage.setItem(`upcall-${name}`, chosen ? "1" : "0");
  } catch { /* a browser that keeps nothing */ }
}

function chime() {
  const audio = new AudioContext();
  const tone = audio.createOscillator();
  const volume = audio.createGain();
  tone.frequency.value = 880;
  volume.gain.setValueAtTime(0.12, audio.currentTime);
  volume.gain.exponentialRampToValueAtTime(0.001, audio.currentTime + 0.4);
  tone.connect(volume).connect(audio.destination);
  tone.addEventListener("ended", () => audio.close());
  tone.start();
  tone.stop(audio.currentTime + 0.4);
  body.dataset.chimed = Number(body.dataset.chimed ?? 0) + 1;
}

/** Something new waits. */
export function announce(entry) {
  notify(entry);
  // Last: a browser without a sound device may refuse, and what was said is said.
  if (wants("sound")) chime();
}

/** A person who looks at the page needs no notification. */
async function notify(entry) {
  if (!wants("notify") || !document.hidden || !worker || window.Notification?.permission !== "granted") return;
  const { agent, id } = entry.dataset;
  // Registered is not yet active, and one that is not active shows nothing.
  const registration = await navigator.serviceWorker.ready;
  // Of this and what is pushed there is one on the screen: what is pushed may have buttons.
  if ((await registration.getNotifications({ tag: id })).length) return;
  await registration.showNotification(say("js.asks", { agent }), {
    body: one(".line, .question", entry).textContent.trim().slice(0, 200),
    icon: "/static/icon.svg",
    tag: id,
  });
}

/** A pressed notification leads to its question, which may be on this very page. */
function lead({ data: id }) {
  const card = byId(`i-${id}`);
  changed();
  if (isDesk) open(id);
  else if (card && !card.hidden) card.focus();
  else location.assign(`/i/${id}`);
}

async function push(wanted, anew = true) {
  if (!body.dataset.push || !worker) return;
  const { pushManager } = await worker;
  const known = await pushManager.getSubscription();
  const key = Uint8Array.from(atob(body.dataset.push.replace(/-/g, "+").replace(/_/g, "/")), (letter) => letter.charCodeAt(0));
  const held = wanted && anew ? (known ?? await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key })) : known;
  if (!held) return;
  const { endpoint, keys } = held.toJSON();
  const sent = new URLSearchParams({ token: token(), endpoint, ...keys });
  await fetch(wanted ? "/push/subscribe" : "/push/unsubscribe", { method: "POST", body: sent });
  if (!wanted) await held.unsubscribe();
}

async function chosen({ target }) {
  const name = target.dataset.manner;
  keep(name, target.checked);
  if (name === "sound" && target.checked) chime();
  if (name !== "notify") return;
  if (target.checked && (await Notification.requestPermission()) !== "granted") {
    target.checked = false;
    keep(name, false);
    return;
  }
  await push(target.checked);
  offer();
}

/** The step of the empty inbox that turns notifications on. */
function offer() {
  const step = one("[data-notify]");
  const field = one("[data-manner=notify]");
  if (!step || field.disabled) return;
  const [button, line] = step.querySelectorAll("button, span");
  step.hidden = false;
  button.hidden = field.checked;
  line.hidden = !field.checked;
  button.onclick = () => field.click();
}

const box = one("[data-manners]");
if (box) {
  box.hidden = false;
  for (const field of box.querySelectorAll("[data-manner]")) {
    field.disabled = field.dataset.manner === "notify" && !(worker && "Notification" in window);
    field.checked = wants(field.dataset.manner);
    field.addEventListener("change", chosen);
  }
  offer();
  // A subscription ends with its session, and this may be another.
  if (wants("notify")) push(true, false);
}
navigator.serviceWorker?.addEventListener("message", lead);
