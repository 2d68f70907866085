// Keeps one page without anything private in it, for when the daemon cannot be reached, and shows what is pushed.
const KEPT = "upcall-1";
const FILES = ["/offline", "/static/upcall.css", "/static/icon.svg"];

self.addEventListener("install", (event) => {
  // An answer does not wait until this script is awake, where a browser can be told so.
  event.addRoutes?.({ condition: { not: { requestMode: "navigate" } }, source: "network" });
  event.waitUntil(caches.open(KEPT).then((cache) => cache.addAll(FILES)).then(() => self.skipWaiting()));
});

self.addEventListener("activate", (event) => {
  const old = caches.keys().then((names) => Promise.all(names.filter((name) => name !== KEPT).map((name) => caches.delete(name))));
  event.waitUntil(old.then(() => self.clients.claim()));
});

self.addEventListener("fetch", (event) => {
  if (event.request.mode !== "navigate" || event.request.method !== "GET") return;
  event.respondWith(fetch(event.request).catch(() => caches.match("/offline")));
});

self.addEventListener("push", (event) => {
  const { title, body, tag, url, quiet } = event.data.json();
  const options = { body, tag, icon: "/static/icon.svg", silent: quiet, renotify: !quiet, data: { url } };
  event.waitUntil(self.registration.showNotification(title, options));
});

async function open(path) {
  const windows = await self.clients.matchAll({ type: "window" });
  const here = windows.find((client) => new URL(client.url).pathname === path);
  return here ? here.focus() : self.clients.openWindow(path);
}

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(open(event.notification.data.url));
});
