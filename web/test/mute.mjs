// Checks that the dashboard's terminal does not answer the queries of the agent CLI. Such an answer would be
// typed into the agent CLI.

const questions = [
  "[c", "[>c", "[=c", "[5n", "[6n", "[?6n", "[?15n", "[?996n", "[4$p", "[?2026$p", "[>q", "[?u", "[14t", "[18t",
  "]4;1;?\x07", "]10;?\x07", "]11;?\x1b\\", "]12;?\x07", "]52;c;?\x07", "P$qm\x1b\\", "P+q544e\x1b\\",
].map((q) => `\x1b${q}`);

export async function checkMute(page, report) {
  const ask = (muted) => page.evaluate(async ({ questions, muted }) => {
    const { load, mute } = await import("/xterm.js");
    const place = document.body.appendChild(document.createElement("div"));
    const term = (await load()).open(place);
    term.options.disableStdin = false; // as if the viewer had control
    if (muted) mute(term);
    const said = [];
    term.onData((text) => said.push(text));
    for (const q of questions) await new Promise((done) => term.write(q, done));
    term.dispose();
    place.remove();
    return said;
  }, { questions, muted });
  report.same("answers of a viewer", await ask(true), []);
  report.yes("without care it would have answered", (await ask(false)).length > 5);
}
