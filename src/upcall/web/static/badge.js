// How many wait, where one sees it without looking: in the tab's title and on its icon.
import { all, idle, one } from "./dom.js";
import { say } from "./words.js";

const SIZE = 64;
const icon = one('link[rel="icon"]');
const plain = icon.href;
const picture = new Image();
picture.src = plain;
let latest = 0;
let timer;

export function show(count) {
  latest = count;
  // The question itself comes first.
  timer ??= idle(tell, { timeout: 500 });
}

async function tell() {
  timer = undefined;
  const count = latest;
  const title = document.body.dataset.title;
  document.title = count ? say("js.title_count", { n: count, title }) : title;
  for (const place of all("[data-count]")) {
    place.textContent = count;
    place.hidden = !count;
  }
  navigator.setAppBadge?.(count).catch(() => { /* not allowed here */ });
  const href = count ? await drawn(count) : plain;
  // Drawing takes a moment, and what was to be drawn may be over by then.
  if (count === latest) icon.href = href;
}

async function drawn(count) {
  try {
    await picture.decode();
  } catch {
    return plain;
  }
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = SIZE;
  const pen = canvas.getContext("2d");
  pen.drawImage(picture, 0, 0, SIZE, SIZE);
  pen.fillStyle = "#dc2626";
  pen.beginPath();
  pen.arc(44, 44, 20, 0, 2 * Math.PI);
  pen.fill();
  pen.fillStyle = "#fff";
  pen.font = `bold ${count > 9 ? 24 : 32}px system-ui`;
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  pen.fillText(count > 99 ? "99" : count, 44, 46);
  return canvas.toDataURL();
}
