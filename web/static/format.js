// Writes numbers and other values as text.

/** Writes seconds in the form of the command line: 45s, 12m, 3h 4m, 2d 5h. */
export function age(seconds) {
  const s = Math.max(0, Math.floor(seconds));
  if (s < 60) return `${s}s`;
  if (s < 3600) return `${Math.floor(s / 60)}m`;
  if (s < 86400) return `${Math.floor(s / 3600)}h ${Math.floor(s / 60) % 60}m`;
  return `${Math.floor(s / 86400)}d ${Math.floor(s / 3600) % 24}h`;
}

/** Writes how long ago a time was. It returns "never" if there is no time. */
export function ago(time, now = Date.now()) {
  if (!time) return "never";
  return `${age((now - Date.parse(time)) / 1000)} ago`;
}

/** Writes US dollars. It returns "" for no dollars. */
export function money(dollars) {
  if (!dollars) return "";
  return dollars < 0.01 ? "< $0.01" : `$${dollars.toFixed(2)}`;
}

/** Writes a number of tokens: 950, 12.3k, 1.2M. */
export function tokens(n) {
  if (n < 1000) return `${n}`;
  if (n < 1e6) return `${(n / 1000).toFixed(n < 1e4 ? 1 : 0)}k`;
  return `${(n / 1e6).toFixed(1)}M`;
}

/** Returns PROVIDER/MODEL, or MODEL if there is no provider. */
export function model(arm) {
  return [arm.provider, arm.model].filter(Boolean).join("/");
}

/** Returns the requested model, if the arm has another model and nobody has pressed "Seen" yet. Otherwise it returns "". */
export function unseenFallback(arm) {
  const f = arm.modelFallback;
  return f && !f.seen ? f.asked.model : "";
}

/** Writes a model with its price per million tokens. */
export function priced({ model, price }) {
  return price ? `${model} ($${price.input} in, $${price.output} out)` : `${model} (price unknown)`;
}

/** Returns the state of an arm's window, or "" if the arm has no window. */
export function windowState(window) {
  if (!window?.state) return "";
  const words = { opening: "is being opened", open: "open", closed: "closed", failed: "failed" };
  return `${words[window.state] ?? window.state}${window.terminal ? ` in ${window.terminal}` : ""}${window.reason ? `: ${window.reason}` : ""}`;
}

/** Returns the last folder of a path. It is enough to distinguish the paths in a list. */
export function folder(path) {
  return (path ?? "").split("/").filter(Boolean).at(-1) ?? "";
}

/** Writes a number with a noun in the singular or the plural. */
export function count(n, one, many = `${one}s`) {
  return `${n} ${n === 1 ? one : many}`;
}

/** Writes how much of a budget is used. It returns "" if there is no budget. */
export const budget = (b) => (b?.dollars ? `$${(b.spent ?? 0).toFixed(2)} of $${b.dollars.toFixed(2)} (${b.policy || "park"})` : "");

/** Writes the labels of an arm as KEY=VALUE, with commas between them. */
export const labels = (set) => Object.keys(set ?? {}).sort().map((key) => `${key}=${set[key]}`).join(",");
