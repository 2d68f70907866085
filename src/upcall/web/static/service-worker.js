// Keeps one page without anything private in it, for when the daemon cannot be reached, and shows what is pushed.
const KEPT = "upcall-2";
const FILES = ["/offline", "/static/upcall.css", "/static/deciding.css", "/static/icon.svg"];

self.addEventListener("install", (event) => {
  // An answer does not wait until this script is awake, where a browser can be told so.
  const ours = { or: [{ requestMode: "navigate" }, { urlPattern: "/static/*" }] };
  event.addRoutes?.({ condition: { not: ours }, source: "network" });
  event.waitUntil(caches.open(KEPT).then((cache) => cache.addAll(FILES)).then(() => self.skipWaiting()));
});

self.addEventListener("activate", (event) => {
  const old = caches.keys().then((names) => Promise.all(names.filter((name) => name !== KEPT).map((name) => caches.delete(name))));
  event.waitUntil(old.then(() => self.clients.claim()));
});

self.addEventListener("fetch", (event) => {
  const { method, mode, url } = event.request;
  const path = new URL(url).pathname;
  if (method !== "GET" || (mode !== "navigate" && !FILES.includes(path))) return;
  event.respondWith(fetch(event.request).catch(() => caches.match(mode === "navigate" ? "/offline" : path)));
});

async function tell({ title, body, tag, quiet, actions, answer }) {
  const { registration, clients } = self;
  const windows = await clients.matchAll({ type: "window" });
  // A visible inbox shows how the question ended.
  if (quiet && windows.some(({ visibilityState }) => visibilityState === "visible")) {
    for (const old of await registration.getNotifications({ tag })) old.close();
  } else await registration.showNotification(title, { body, tag, actions, data: answer, icon: "/static/icon-192.png", silent: quiet, renotify: !quiet });
}

self.addEventListener("push", (event) => event.waitUntil(tell(event.data.json())));

/** Leads to a question: to its own page if that is open, else to the inbox if that is, else to a new window. */
async function open(id) {
  const windows = await self.clients.matchAll({ type: "window" });
  const at = (path) => windows.find(({ url }) => new URL(url).pathname === path);
  const here = at(`/i/${id}`) ?? at("/");
  if (!here) return self.clients.openWindow(`/i/${id}`);
  here.postMessage(id);
  return here.focus();
}

/** Decides by the link that came with what was shown; what the server says of it takes the place of the action. */
async function decide({ title, tag, data }, verdict) {
  const body = new URLSearchParams({ verdict });
  try {
    const reply = await fetch(data, { method: "POST", headers: { "X-Upcall-Fragment": "1" }, body });
    return tell({ title, tag, body: await reply.text(), quiet: reply.ok });
  } catch {
    return open(tag);
  }
}

self.addEventListener("notificationclick", (event) => {
  const { notification, action } = event;
  notification.close();
  event.waitUntil(action ? decide(notification, action) : open(notification.tag));
});
