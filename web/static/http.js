// Calls of the API. A failure is an Error with the code that the API gave.

/** Calls a route and returns what it answers, decoded. */
export async function call(method, path, body) {
  let answer;
  try {
    answer = await fetch(path, {
      method,
      headers: body === undefined ? { Accept: "application/json" } : { Accept: "application/json", "Content-Type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch {
    throw failure({ code: "unavailable", message: "The server cannot be reached." });
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

/** The address of a WebSocket of this server. */
export function socketURL(path) {
  return `${location.protocol === "https:" ? "wss:" : "ws:"}//${location.host}${path}`;
}
