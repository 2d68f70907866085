// Sends a form for a part of this page. A page that is signed out goes to where one signs in.
export async function post(address, body) {
  const reply = await fetch(address, { method: "POST", headers: { "X-Upcall-Fragment": "1" }, body });
  if (reply.status === 401) location.assign("/sign-in?ended=1");
  return { ok: reply.ok, text: await reply.text() };
}
