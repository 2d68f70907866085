// From 1500 px, beside the question: where it comes from, and what its run writes, as it is written.
import { one, parseAll } from "./dom.js";
import { writeLog } from "./log.js";
import { get } from "./post.js";

const desk = one("[data-desk]");
const pane = one("[data-beside]");
const wide = matchMedia("(min-width: 1500px)");
let source;

function listen() {
  source?.close();
  source = undefined;
  const log = pane.querySelector("[data-log-of]");
  if (!log || !wide.matches || document.hidden) return;
  log.scrollTop = log.scrollHeight;
  source = new EventSource(`${log.dataset.logOf}?after=${document.body.dataset.seq}&view=log&log=${log.dataset.log}`);
  source.addEventListener("log", ({ data }) => writeLog(log, data));
}

async function show(id) {
  if (!id || !wide.matches || pane.dataset.of === id) return;
  pane.dataset.of = id;
  const { ok, text } = await get(`/i/${id}/beside`);
  if (!ok || pane.dataset.of !== id) return;
  pane.replaceChildren(parseAll(text));
  pane.hidden = false;
  listen();
}

const current = () => one("[data-pane] > article:not([hidden])")?.dataset.id;
// Without a connection the pane stays as it is; the card says what it has to say.
const renew = () => show(current()).catch(() => { delete pane.dataset.of; });

if (desk) {
  desk.addEventListener("shown", renew);
  wide.addEventListener("change", () => { renew(); listen(); });
  document.addEventListener("visibilitychange", listen);
  renew();
}
