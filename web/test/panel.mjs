// Checks only the panel that shows a dialog, with dialogs that this file makes.

/** Draws dialogs in one panel, one after the other. Returns what the page shows after each. */
const draw = (page, dialogs) => page.evaluate(async (dialogs) => {
  const { DialogPanel, questionOf } = await import("/dialog.js");
  const panel = new DialogPanel(() => new Promise(() => {}), () => "");
  document.body.append(panel.node);
  const all = (selector, f) => [...panel.node.querySelectorAll(selector)].map(f);
  const shown = [];
  const isLocked = () => all("button, input", (b) => b.disabled).every(Boolean);
  for (const { suspension, click, write, wait, ...dialog } of dialogs) {
    panel.update(suspension ? questionOf({ suspensions: [suspension] }) : dialog.fingerprint ? dialog : null);
    for (let frames = 600; wait && isLocked() && frames > 0; frames--) await new Promise(requestAnimationFrame);
    if (write) panel.node.querySelector("input[type=text]").value = write;
    for (const name of click ?? []) panel.node.querySelector(`[name="${name}"]`)?.click() ?? all("button", (b) => b).find((b) => b.textContent === name)?.click();
    shown.push({
      title: panel.node.querySelector("h2")?.textContent, kind: panel.node.querySelector(".kind")?.textContent,
      options: all(".several span", (s) => s.textContent), ticked: all("[type=checkbox]", (b) => b.checked),
      texts: all("input[type=text]", (i) => i.value), buttons: all("button", (b) => b.textContent),
      locked: isLocked(),
    });
  }
  panel.node.remove();
  return shown;
}, dialogs);

const list = (options, ticked, more) => ({ fingerprint: "f", kind: "question", title: "Which?", several: true, options, ticked, ...more });

export async function checkPanel(page, report) {
  const question = { id: "q-1", kind: "question", text: "What else?", several: true };
  const [, bare, next] = await draw(page, [list(["a", "b"], []), { suspension: question }, list(["c"], [])]);
  report.same("several options without an option", [bare.title, bare.buttons], ["What else?", ["Answer", "Dismiss"]]);
  report.same("the dialog after it", next.options, ["c"]);

  const [own] = await draw(page, [{ suspension: { ...question, options: ["a", "b"] } }]);
  report.same("the buttons of a question with several options", own.buttons, ["Submit", "Dismiss", "Answer"]);

  const [, grown, ticked] = await draw(page, [list(["a", "b"], []), list(["a", "b", "c", "d"], [2]), list(["a", "b", "c", "d"], [4])]);
  report.same("a list that has grown", [grown.options, grown.ticked], [["a", "b", "c", "d"], [false, true, false, false]]);
  report.same("ticks that have changed", ticked.ticked, [false, false, false, true]);

  const other = { text_option: 2 };
  const [, kept] = await draw(page, [list(["a", "other"], [], { ...other, wait: true, click: ["option-1"], write: "pear" }), list(["a", "other", "c"], [3], other)]);
  report.same("what was entered stays", [kept.ticked, kept.texts], [[true, false, true], ["pear"]]);

  const [, busy, free, later] = await draw(page, [list(["a"], [], { wait: true, click: ["Submit"] }), list(["a"], [1]),
    { ...list(["a"], []), fingerprint: "g", click: ["Submit"] }, { ...list(["a"], []), fingerprint: "g", wait: true }]);
  report.same("an answer on its way", [busy.kind, busy.locked, busy.ticked], ["Answering…", true, [true]]);
  report.same("a click on the next dialog at once", [free.kind, free.locked], ["Has a question", true]);
  report.same("the next dialog", [later.kind, later.locked], ["Has a question", false]);
}
