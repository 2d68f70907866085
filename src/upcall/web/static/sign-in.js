// A click on the link is enough where scripts run. Programs that only preview the link do not get this far.
const form = document.querySelector("[data-sign-in]");
const go = () => form.requestSubmit();
if (document.visibilityState === "visible") go();
else document.addEventListener("visibilitychange", go, { once: true });
