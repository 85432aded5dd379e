// Compares the arms on the page with the arms of the API.

/** Returns which buttons an arm must have, and which of them are enabled. It does not use rules.js. */
function buttons(arm, capabilities) {
  const { state, canRecover, hasRuntime } = arm.runtime;
  const stopped = arm.status === "stopped";
  return {
    Interrupt: ["processing", "executing"].includes(arm.state) && capabilities?.interrupt !== false,
    ...(capabilities?.compact ? { Compact: arm.state === "idle" && !stopped } : {}),
    ...(["closed", "failed"].includes(arm.window?.state) ? { "Open window": true } : {}),
    [["recoverable", "stopped"].includes(state) ? "Restart" : "Recover"]: canRecover && ["hung", "recoverable", "stopped"].includes(state),
    Spawn: stopped || arm.status === "error" || (arm.status === "starting" && !hasRuntime),
    [stopped ? "Remove" : "Kill"]: true,
  };
}

export async function checkList(page, report, api) {
  const { arms } = await api("/api/arms?includeAll=true");
  await page.waitForFunction((n) => document.querySelectorAll("nav .row").length === n, arms.length);
  const shown = await page.$$eval("nav .row", (rows) => rows.map((r) => [r.querySelector(".name").textContent, r.querySelector(".health").textContent]));
  const want = arms.map((a) => [a.name, a.runtime.state]);
  report.same("the list", shown.sort(), want.sort());
}

/** Checks that each row shows the API's display: the running tool, the tasks, or the last text. */
export async function checkDoing(page, report, api) {
  const { arms } = await api("/api/arms?includeAll=true");
  for (const arm of arms.filter((a) => a.status !== "stopped")) {
    const before = await api(`/api/arms/${arm.id}/display`);
    const line = await page.$$eval("nav .row", (rows, name) => rows.find((r) => r.querySelector(".name").textContent === name)?.querySelector(".now").textContent, arm.name);
    const after = await api(`/api/arms/${arm.id}/display`);
    if (line === undefined || before.seq !== after.seq) continue; // the display has changed meanwhile
    const done = (after.tasks ?? []).filter((t) => t.status === "completed").length;
    if (after.tasks?.length) report.yes(`the tasks of ${arm.name} are counted`, line.includes(`${done} of ${after.tasks.length} tasks`));
    if (after.tools?.length) report.yes(`the tool of ${arm.name} is shown, not “${line}”`, line.includes(after.tools.at(-1).title));
    else if (after.text) report.yes(`the last text of ${arm.name} is shown, not “${line}”`, line.includes(after.text.trim().split(/\s+/).at(-1)));
    const height = await page.$$eval("nav .row .now:not([hidden])", (all) => [...new Set(all.map((p) => Math.round(p.getBoundingClientRect().height)))].length);
    report.yes("the line of each card is as high as every other", height <= 1);
  }
}

export async function checkArm(page, report, base, api, name, harnesses) {
  await page.goto(`${base}/#/arm/${name}`);
  await page.waitForFunction((n) => document.querySelector(".head h1")?.textContent === n, name);
  const { arm } = await api(`/api/arms/${name}`);
  const capabilities = harnesses.find((h) => h.name === arm.harness)?.capabilities;
  const shown = await page.$$eval(".actions button:not([hidden])", (all) => Object.fromEntries(all.map((b) => [b.textContent, !b.disabled])));
  const { arm: after } = await api(`/api/arms/${name}`);
  if (after.state !== arm.state || after.runtime.state !== arm.runtime.state) return; // the state has changed meanwhile, so there is nothing to compare
  report.same(`buttons of ${name}`, shown, buttons(arm, capabilities));
  report.yes(`the reason of ${name}'s health is shown`, (await page.textContent(".head .why")).includes(arm.runtime.state));
  await checkPrompt(page, report, arm);
  await checkTerminal(page, report, api, name);
}

async function checkPrompt(page, report, arm) {
  const shut = ["waiting_approval", "initializing", "dead"].includes(arm.state) || arm.status === "stopped";
  report.same(`the prompt of ${arm.name} is shut`, await page.isDisabled(".prompt textarea"), shut);
  report.yes(`the prompt of ${arm.name} says something`, (await page.textContent(".prompt .note")).length > 10);
}

async function checkTerminal(page, report, api, name) {
  const { data } = await api(`/api/arms/${name}/output?from=-1`);
  if (!data) return; // the arm has written nothing
  await page.waitForFunction(() => document.querySelector(".xterm-rows")?.textContent.trim().length > 0);
  const status = await page.textContent(".tty .status");
  report.yes(`the terminal of ${name} is live or has ended, not “${status}”`, ["Live", "Ended"].includes(status));
  report.same(`keys reach ${name} only under control`, await page.textContent(".tty .bar button:last-child"), "Take control");
}

export async function checkDialog(page, report, base, arm) {
  await page.goto(`${base}/#/arm/${arm.name}`);
  await page.waitForSelector(".dialog:not([hidden])");
  report.same(`title of ${arm.name}'s dialog`, await page.textContent(".dialog h2"), arm.dialog.title);
  if (arm.dialog.subject) report.same(`its subject`, await page.textContent(".dialog .subject"), arm.dialog.subject);
  if (arm.dialog.several) return checkSeveral(page, report, arm.dialog);
  report.same("its options", await page.$$eval(".dialog .option", (all) => all.map((b) => b.textContent)), arm.dialog.options ?? []);
  const answers = await page.$$eval(".dialog > .answers button", (all) => all.map((b) => b.textContent));
  const asks = !["permission", "trust", "plan"].includes(arm.dialog.kind);
  report.same("its answers", answers, asks ? ["Answer", "Dismiss"] : ["Approve", "Approve always", "Deny"]);
}

async function checkSeveral(page, report, dialog) {
  report.same("its options to tick", await page.$$eval(".dialog .several span", (all) => all.map((s) => s.textContent)), dialog.options);
  const ticked = await page.$$eval(".dialog .several [type=checkbox]", (all) => all.flatMap((b, i) => (b.checked ? [i + 1] : [])));
  report.same("its ticks", ticked, dialog.ticked ?? []);
  report.same("its answers", await page.$$eval(".dialog > .answers button", (all) => all.map((b) => b.textContent)), ["Submit", "Dismiss"]);
}

/** Checks that the terminal continues at the right offset after its connection broke. */
export async function checkReconnect(page, report, base, arm) {
  const seen = [];
  await page.routeWebSocket(/\/ws\/terminal\//, (ws) => {
    const server = ws.connectToServer();
    const stream = { from: new URL(ws.url()).searchParams.get("from"), at: 0, ends: [], offsets: [], cut: () => ws.close({ code: 1013 }) };
    seen.push(stream);
    server.onMessage((m) => {
      if (typeof m === "string") {
        const c = JSON.parse(m);
        if (c.type === "offset") stream.offsets.push((stream.at = c.offset));
      } else stream.ends.push((stream.at += m.length));
      ws.send(m);
    });
  });
  await page.goto(`${base}/#/arm/${arm.name}`);
  await page.waitForFunction(() => document.querySelector(".tty .status")?.textContent === "Live");
  await page.waitForFunction(() => document.querySelector(".xterm-rows")?.textContent.trim().length > 0);
  const cut = seen[0];
  cut.cut();
  await page.waitForFunction(() => document.querySelector(".tty .status")?.textContent === "Reconnecting");
  const text = await page.textContent(".xterm-rows");
  report.yes("what was on the terminal stays while it reconnects", text.trim().length > 0);
  await page.waitForFunction(() => document.querySelector(".tty .status")?.textContent === "Live");
  report.same("streams that were opened", seen.length, 2);
  report.yes(`the second one asks for the end of what came (${seen[1].from} of ${cut.ends.slice(-3)})`, cut.ends.slice(-3).includes(Number(seen[1].from)));
  report.same("the offset that it is given", seen[1].offsets[0], Number(seen[1].from));
  await page.context().close();
}
