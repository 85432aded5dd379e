// What an arm does now, in one line. Pure: no page, no network.

const most = 200; // characters of a text: more than a line of the list shows

/** Puts a text of several lines into one line. */
function oneLine(text) {
  return (text ?? "").replace(/\s+/g, " ").trim();
}

/** The end of a text: the newest words are at its end. */
function end(text) {
  const line = oneLine(text);
  return line.length > most ? `…${line.slice(-most)}` : line;
}

/** The tools that run: the newest, and how many more there are. */
export function running(display) {
  const tools = display?.tools ?? [];
  if (tools.length === 0) return "";
  const more = tools.length > 1 ? ` (+${tools.length - 1})` : "";
  return oneLine(tools.at(-1).title) + more;
}

/** The tasks: how many of them are done. */
export function tasks(display) {
  const all = display?.tasks ?? [];
  if (all.length === 0) return "";
  return `${all.filter((t) => t.status === "completed").length} of ${all.length} tasks`;
}

/** The last text of the model, or that it thinks. */
export function said(display) {
  if (display?.thinking) return "Thinking…";
  return end(display?.text);
}

/** The whole line. The last text is left out while a tool runs: the tool is what happens now. */
export function doing(display) {
  const tool = running(display);
  return [tasks(display), tool || said(display)].filter(Boolean).join(" · ");
}
