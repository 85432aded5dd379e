// Signs this browser in with the code from a link. The code is in the part of the address
// after the #, because browsers do not send this part to any server.

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
  history.replaceState(null, "", "/enter"); // the code works only once
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
