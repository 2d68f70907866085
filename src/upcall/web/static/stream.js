// Follows the server's stream without losing anything: the page knows the last event that it has seen.
//
// A browser opens few connections to one host, so of all tabs one holds the stream and passes on what it hears. Where
// tabs cannot agree on one (an address that is not secure), and for what is shown in one tab alone, each has its own,
// and closes it while the tab is hidden.
import { one } from "./dom.js";
import { get } from "./post.js";

const KINDS = ["row", "card", "run", "log", "item", "composer", "faults"];
// What has no number of its own in the log.
const UNNUMBERED = ["log", "composer", "faults"];
const PAUSES = [500, 1000, 2000, 4000];
const { body } = document;

export function follow(hear) {
  const alone = body.dataset.view !== "inbox" || !navigator.locks;
  const channel = alone ? undefined : new BroadcastChannel("upcall");
  let leading = alone;

  function take(news) {
    if (news.seq && news.seq <= Number(body.dataset.seq)) return;
    // Its card comes after a row, and is asked for again if it does not.
    if (news.seq && news.kind !== "row") body.dataset.seq = news.seq;
    hear(news);
  }

  const source = connect((news) => {
    take({ ...news, first: true });
    channel?.postMessage(news);
  });
  if (alone) return source.whileSeen();

  channel.addEventListener("message", ({ data }) => {
    if (data.kind !== "hello") return take(data);
    if (!leading) return undefined;
    // A tab that knows less than this one gets what happened in between; all others have it.
    if (data.since < Number(body.dataset.seq)) return source.open(data.since);
    return channel.postMessage({ kind: "state", connected: body.dataset.connected === "true" });
  });
  channel.postMessage({ kind: "hello", since: Number(body.dataset.seq) });
  // Held as long as this tab lives; then the next one gets it.
  return navigator.locks.request("upcall-stream", () => {
    leading = true;
    source.open();
    return new Promise(() => {});
  });
}

function connect(tell) {
  let source;
  let timer;
  let failures = 0;

  function open(since = body.dataset.seq) {
    clearTimeout(timer);
    source?.close();
    const read = one("[data-log]:not([data-log-of])")?.dataset.log ?? 0;
    source = new EventSource(`${body.dataset.stream}?after=${since}&view=${body.dataset.view}&log=${read}`);
    source.addEventListener("open", () => {
      failures = 0;
      tell({ kind: "state", connected: true });
    });
    // Left to itself, a browser gives up for good when a proxy answers in the daemon's place.
    source.addEventListener("error", lost);
    for (const kind of KINDS) {
      source.addEventListener(kind, ({ data, lastEventId }) => tell({ kind, html: data, seq: UNNUMBERED.includes(kind) ? 0 : Number(lastEventId) + (kind === "row") }));
    }
    // What was missed is not in the log any more.
    source.addEventListener("reset", ({ lastEventId }) => tell({ kind: "reset", seq: Number(lastEventId) }));
    source.addEventListener("count", ({ data }) => tell({ kind: "count", count: Number(data) }));
  }

  function rest() {
    clearTimeout(timer);
    source?.close();
    source = undefined;
  }

  function whileSeen() {
    if (!document.hidden) open();
    document.addEventListener("visibilitychange", () => (document.hidden ? rest() : open()));
  }

  function lost() {
    source.close();
    tell({ kind: "state", connected: false });
    clearTimeout(timer);
    timer = setTimeout(again, PAUSES[Math.min(failures, PAUSES.length - 1)]);
    failures += 1;
  }

  async function again() {
    try {
      if ((await get("/inbox/here")).ok) return open();
    } catch { /* not there yet */ }
    return lost();
  }

  addEventListener("online", () => source && again());
  addEventListener("pagehide", () => source?.close());
  // A page that the browser kept aside comes back with what it missed.
  addEventListener("pageshow", (event) => event.persisted && source && open());
  return { open, whileSeen };
}
