// Starts an arm through the page, works with it, and removes it again.

const name = "page-test";
const patience = { timeout: 120000 }; // ms: real agent CLIs start slowly

export async function drive(page, report, base, api, { spawn, workdir }) {
  await make(page, report, base, spawn, workdir);
  await page.waitForFunction(() => document.querySelector(".head .word")?.textContent === "Idle", null, patience);
  await prompt(page, report, api);
  await control(page, report, api);
  await end(page, report, base, api);
}

async function make(page, report, base, harness, workdir) {
  await page.goto(`${base}/#/`);
  await page.click("#new");
  await page.fill("#spawn [name=name]", "../bad");
  await page.fill("#spawn [name=workdir]", workdir);
  await page.selectOption("#spawn [name=harness]", harness);
  await page.click("#spawn [type=submit]");
  report.yes("a bad name keeps the form open", await page.isVisible("#spawn"));
  await page.fill("#spawn [name=name]", name);
  await page.fill("#spawn [name=workdir]", "/nowhere");
  await page.click("#spawn [type=submit]");
  await page.waitForSelector("#spawn .warn:not([hidden])", patience);
  await page.fill("#spawn [name=workdir]", workdir);
  await page.click("#spawn [type=submit]");
  await page.waitForFunction((n) => document.querySelector(".head h1")?.textContent === n, name, patience);
}

async function prompt(page, report, api) {
  await page.fill(".prompt textarea", "What is 2 + 2? Answer with the number alone.");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelector(".prompt textarea").value === "", null, patience);
  await page.waitForFunction(() => document.querySelector(".head .word").textContent === "Idle", null, patience);
  const { events } = await api(`/api/arms/${name}/events?limit=1000`);
  report.yes("the prompt is in the log", events.some((e) => e.kind === "run_start"));
  await page.click("text=Activity");
  await page.waitForFunction(() => document.querySelector(".log").textContent.includes("Prompt: What is 2 + 2?"));
}

async function control(page, report, api) {
  await page.click("text=Take control");
  await page.waitForSelector(".tty[data-control=true]", patience);
  await page.keyboard.type("echo-by-hand");
  await page.waitForFunction(() => document.querySelector(".xterm-rows").textContent.replace(/\s/g, "").includes("echo-by-hand"), null, patience);
  await page.keyboard.press("Control+Alt+KeyX");
  await page.waitForSelector(".tty[data-control=false]", patience);
  report.same("what the button says then", await page.textContent(".tty .bar button:last-child"), "Take control");
  const { cols } = await api(`/api/arms/${name}/output?from=-1`);
  report.yes("the terminal has a size", cols >= 80);
}

async function end(page, report, base, api) {
  await page.click(".actions >> text=Kill");
  report.same("a first press asks", await page.textContent(".actions .danger"), "Press again to kill");
  const { arm } = await api(`/api/arms/${name}`);
  report.yes("a first press kills nothing", arm.status !== "stopped");
  await page.click(".actions .danger");
  await page.waitForFunction(() => document.querySelector(".head .word").textContent === "Stopped", null, patience);
  await page.click(".actions >> text=Remove");
  await page.click(".actions .danger");
  await page.waitForFunction(() => location.hash === "#/", null, patience);
  const { arms } = await api("/api/arms?includeAll=true");
  report.yes("it is gone", !arms.some((a) => a.name === name));
  await page.waitForFunction((n) => ![...document.querySelectorAll("nav .name")].some((e) => e.textContent === n), name);
}
