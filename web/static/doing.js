// Makes the line about what an arm does now. This module does not use the page or the network.

const most = 200; // the maximum number of characters; a line of the list shows fewer

/** Returns the text in one line. */
function oneLine(text) {
  return (text ?? "").replace(/\s+/g, " ").trim();
}

/** Returns the end of a text, because the newest words are there. */
function end(text) {
  const line = oneLine(text);
  return line.length > most ? `…${line.slice(-most)}` : line;
}

/** Returns the title of the newest running tool, followed by the number of other running tools, such as "Bash (+2)". */
export function running(display) {
  const tools = display?.tools ?? [];
  if (tools.length === 0) return "";
  const more = tools.length > 1 ? ` (+${tools.length - 1})` : "";
  return oneLine(tools.at(-1).title) + more;
}

/** Returns how many of the tasks are done, such as "2 of 5 tasks". It returns "" if there are no tasks. */
export function tasks(display) {
  const all = display?.tasks ?? [];
  if (all.length === 0) return "";
  return `${all.filter((t) => t.status === "completed").length} of ${all.length} tasks`;
}

/** Returns the last text of the model, or says that the model thinks. */
export function said(display) {
  if (display?.thinking) return "Thinking…";
  return end(display?.text);
}

/**
 * Returns the whole line about what an arm does now. While a tool runs, the line leaves out the last text of
 * the model.
 */
export function doing(display) {
  const tool = running(display);
  return [tasks(display), tool || said(display)].filter(Boolean).join(" · ");
}
