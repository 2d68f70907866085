// Follows the server's stream without losing anything: the page knows the last event that it has seen.
const KINDS = ["asked", "answered", "rejected", "cancelled", "expired", "failed", "snoozed", "extended", "collected"];
const PAUSES = [500, 1000, 2000, 4000];

export function follow({ onCard, onCount, onState }) {
  const body = document.body;
  let source;
  let timer;
  let failures = 0;

  function open() {
    clearTimeout(timer);
    source?.close();
    source = new EventSource(`/inbox/stream?after=${body.dataset.seq}`);
    source.addEventListener("open", () => {
      failures = 0;
      onState(true);
    });
    // Left to itself, a browser gives up for good when a proxy answers in the daemon's place.
    source.addEventListener("error", lost);
    for (const kind of KINDS) {
      source.addEventListener(kind, (event) => {
        if (event.lastEventId) body.dataset.seq = event.lastEventId;
        onCard(event.data);
      });
    }
    source.addEventListener("count", (event) => onCount(Number(event.data)));
  }

  async function lost() {
    source.close();
    onState(false);
    const pause = PAUSES[Math.min(failures, PAUSES.length - 1)];
    failures += 1;
    clearTimeout(timer);
    timer = setTimeout(again, pause);
  }

  async function again() {
    try {
      const reply = await fetch("/inbox/here", { headers: { "X-Upcall-Fragment": "1" }, cache: "no-store" });
      if (reply.status === 401) return location.assign("/sign-in");
      if (reply.ok) return open();
    } catch { /* not there yet */ }
    return lost();
  }

  addEventListener("online", again);
  // A page that the browser kept aside comes back with what it missed.
  addEventListener("pageshow", (event) => event.persisted && open());
  addEventListener("pagehide", () => source?.close());
  open();
}
