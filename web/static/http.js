// Calls the API. If a call fails, it throws an Error with the code of the API.

import { SignedOut, forgetNonce, sign } from "./key.js";

/** Calls a route and returns the decoded answer. The parameter signal can abort the call. */
export async function call(method, path, body, signal) {
  const sent = body === undefined ? "" : JSON.stringify(body);
  let answer = await send(method, path, sent, signal);
  if (answer.status === 401) {
    forgetNonce(); // a restarted server does not know the nonce and has refused the request, so the page sends it again
    answer = await send(method, path, sent, signal);
  }
  const text = await answered(method, () => answer.text());
  let data = null;
  try {
    data = text ? JSON.parse(text) : null;
  } catch {
    throw failure({ code: "internal", message: `The server answered ${answer.status} without JSON.` });
  }
  if (!answer.ok) throw failure(data?.error ?? { code: "internal", message: `The server answered ${answer.status}.` });
  return data;
}

async function send(method, path, body, signal) {
  const headers = { Accept: "application/json" };
  if (body) headers["Content-Type"] = "application/json";
  try {
    headers["Coleo-Signature"] = await sign(method, path, body);
  } catch (e) {
    throw unreached(e);
  }
  return answered(method, () => fetch(path, { method, headers, signal, body: body || undefined }));
}

/**
 * Returns the answer of a request that is being sent. If the connection breaks, the server may have received an order
 * and carried it out, so the error must not say that nothing was done.
 */
async function answered(method, answer) {
  try {
    return await answer();
  } catch (e) {
    const problem = unreached(e);
    if (method !== "GET") problem.message += " Nobody knows whether it has done this: look before you try again.";
    throw problem;
  }
}

function unreached(e) {
  if (e instanceof SignedOut) return failure({ code: "unauthorized", message: e.message });
  return failure({ code: "unavailable", message: "The server cannot be reached." });
}

function failure({ code, message, dialog }) {
  const e = new Error(message);
  e.code = code;
  e.dialog = dialog;
  return e;
}

/** Returns the path of a route of an arm. */
export function armPath(arm, rest = "") {
  return `/api/arms/${encodeURIComponent(arm.id)}${rest}`;
}

/** Returns the address of a WebSocket of this server, with a signature for one connection. */
export async function socketURL(path) {
  try {
    const signature = await sign("GET", path);
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    return `${scheme}//${location.host}${path}${path.includes("?") ? "&" : "?"}signature=${signature}`;
  } catch (e) {
    throw unreached(e);
  }
}
