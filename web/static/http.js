// Calls of the API. A failure is an Error with the code that the API gave.

import { SignedOut, forgetNonce, sign } from "./key.js";

/** Calls a route and returns what it answers, decoded. */
export async function call(method, path, body) {
  const sent = body === undefined ? "" : JSON.stringify(body);
  let answer = await send(method, path, sent);
  if (answer.status === 401) {
    forgetNonce(); // the server may be another run: what it refused, it has not done
    answer = await send(method, path, sent);
  }
  const text = await answer.text();
  let data = null;
  try {
    data = text ? JSON.parse(text) : null;
  } catch {
    throw failure({ code: "internal", message: `The server answered ${answer.status}, and no JSON.` });
  }
  if (!answer.ok) throw failure(data?.error ?? { code: "internal", message: `The server answered ${answer.status}.` });
  return data;
}

async function send(method, path, body) {
  const headers = { Accept: "application/json" };
  if (body) headers["Content-Type"] = "application/json";
  try {
    headers["Coleo-Signature"] = await sign(method, path, body);
    return await fetch(path, { method, headers, body: body || undefined });
  } catch (e) {
    throw unreached(e);
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

/** The path of an arm's route. */
export function armPath(arm, rest = "") {
  return `/api/arms/${encodeURIComponent(arm.id)}${rest}`;
}

/** The address of a WebSocket of this server, signed for one connection. */
export async function socketURL(path) {
  try {
    const signature = await sign("GET", path);
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    return `${scheme}//${location.host}${path}${path.includes("?") ? "&" : "?"}signature=${signature}`;
  } catch (e) {
    throw unreached(e);
  }
}
