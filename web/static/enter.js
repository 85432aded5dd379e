// Signs this browser in by the code of a link, which is in the address behind
// the #: browsers send that part to nobody.

import { keepKey, makeKey, publicHalf } from "./key.js";

function tell(message) {
  const state = document.getElementById("state");
  state.textContent = message;
  state.hidden = false;
  document.getElementById("how").hidden = false;
}

async function enter() {
  if (location.pathname !== "/enter" || !location.hash) return;
  const code = location.hash.slice(1);
  history.replaceState(null, "", "/enter"); // it is used up by what follows
  document.getElementById("how").hidden = true;
  try {
    const pair = await makeKey();
    const answer = await fetch("/api/signin", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ code, key: await publicHalf(pair) }),
    });
    if (!answer.ok) throw new Error((await answer.json()).error.message);
    await keepKey(pair);
    location.replace("/");
  } catch (e) {
    tell(`This browser could not be signed in: ${e.message}.`);
  }
}

addEventListener("hashchange", enter);
enter();
