// Asks the server for a part of this page. A page that is signed out goes to where one signs in.
const PAUSE = 1_000;
const sent = (address, options) => fetch(address, { headers: { "X-Upcall-Fragment": "1" }, cache: "no-store", ...options });

async function ask(address, options) {
  const reply = await sent(address, options);
  if (reply.status === 401) leave();
  return { ok: reply.ok, text: await reply.text() };
}

/** Another tab of this browser may be signing in, which ends the session that this page has: then it is asked for anew. */
async function leave() {
  await new Promise((done) => { setTimeout(done, PAUSE); });
  const { status } = await sent("/inbox/here");
  if (status === 401) location.assign("/sign-in?ended=1");
  else location.reload();
}

export const get = (address) => ask(address);
export const post = (address, body) => ask(address, { method: "POST", body });
