// Controls the demonstration (`coleo up --demo`) through the dashboard, in a browser:
//
//   node web/test/demo.mjs BASE_URL TOKEN [--shot FILE.png]
//
// It approves the file of one arm and denies the file of another arm. It kills an agent CLI
// with -9, and recovers the arm with the page's own buttons. The checks read the file system
// and the process table, and not the page.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { chromium } from "playwright-core";
import { checkChanges } from "./changes.mjs";
import { link } from "./link.mjs";
import { Report } from "./report.mjs";

const { values, positionals } = parseArgs({ allowPositionals: true, options: { shot: { type: "string" } } });
const [base, token] = positionals;
if (!base || !token) {
  console.error("usage: node web/test/demo.mjs BASE_URL TOKEN [--shot FILE.png]");
  process.exit(2);
}
const patience = { timeout: 60000 }; // ms: real agent CLIs start slowly
const report = new Report();
const arm = async (name) => {
  const answer = await fetch(`${base}/api/arms/${name}`, { headers: { "X-API-Key": token } });
  return (await answer.json()).arm;
};

const events = async (name) => {
  const answer = await fetch(`${base}/api/arms/${name}/events?limit=1000`, { headers: { "X-API-Key": token } });
  return (await answer.json()).events;
};

async function show(page, name) {
  await page.goto(`${base}/#/arm/${name}`);
  await page.waitForFunction((n) => document.querySelector(".head h1")?.textContent === n, name, patience);
}

const word = (page, text) => page.waitForFunction((t) => document.querySelector(".head .word")?.textContent === t, text, patience);

async function answer(page, name, button, written) {
  await show(page, name);
  await page.waitForSelector(".dialog:not([hidden])", patience);
  await page.waitForFunction(() => document.querySelector(".xterm-rows")?.textContent.includes("hello"), null, patience);
  if (values.shot && written) await page.screenshot({ path: values.shot });
  const file = join((await arm(name)).workdir, "hello.txt");
  report.yes(`${name} has written nothing before the answer`, !existsSync(file));
  await page.click(`.dialog .answers >> text="${button}"`);
  await word(page, "Idle");
  report.same(`${name}'s file after ${button}`, existsSync(file) && readFileSync(file, "utf8").trim(), written && `Hello from ${name}`);
}

// compact clicks Compact, so that an agent CLI shortens its conversation. The log then says how that ended.
async function compact(page, name) {
  await show(page, name);
  await page.click(".actions >> text=Compact");
  let end;
  for (const until = Date.now() + patience.timeout; !end && Date.now() < until; ) {
    await page.waitForTimeout(100);
    end = (await events(name)).find((e) => e.kind === "run_end" && e.payload.compact);
  }
  report.same(`how shortening ${name}'s conversation ended`, end?.payload.outcome, "finished");
  await word(page, "Idle");
}

async function recover(page, name) {
  const before = await arm(name);
  process.kill(before.pid, "SIGKILL");
  await show(page, name);
  await word(page, "Stopped");
  await page.click(".actions >> text=Restart");
  await word(page, "Idle");
  const after = await arm(name);
  report.yes(`${name} runs in a new process`, after.pid && after.pid !== before.pid);
  report.same(`${name}'s conversation`, after.sessionId, before.sessionId);
  report.same(`${name}'s generation`, after.generation, before.generation + 1);
}

// make fills in the form for a new arm: a shell with two environment variables. The shell then writes
// both variables to a file, so that the check can read them.
async function make(page) {
  const workdir = (await arm("claude")).workdir;
  await page.click("#new");
  await page.fill("#spawn [name=name]", "shell");
  await page.fill("#spawn [name=workdir]", workdir);
  await page.selectOption("#spawn [name=harness]", "generic");
  await page.click("#spawn summary");
  await page.fill("#spawn [name=env]", "FIRST=a=b\n\nCOLEO_DIR=x\n");
  await guard(page);
  await page.fill("#spawn [name=env]", "FIRST=a=b\n\nSECOND=c d\n");
  await page.click("#spawn [type=submit]");
  await page.waitForFunction(() => document.querySelector(".head h1")?.textContent === "shell", null, patience);
  await word(page, "Idle");
  report.same("the names of its variables", (await arm("shell")).config.env_names.join(), "FIRST,SECOND");
  await page.fill(".prompt textarea", 'printf %s "$FIRST $SECOND" > env.txt');
  await page.keyboard.press("Enter");
  const file = join(workdir, "env.txt");
  for (const until = Date.now() + patience.timeout; !existsSync(file) && Date.now() < until;) await page.waitForTimeout(50);
  await word(page, "Idle");
  report.same("the program's variables", existsSync(file) && readFileSync(file, "utf8"), "a=b c d");
}

// guard checks that the form refuses the permission mode "all" until the person agrees. The form still
// has a wrong variable, so the form starts nothing after the agreement either.
async function guard(page) {
  const yes = "#spawn [name=yesWithoutSandbox]", mode = "#spawn [name=permissionMode]";
  const refused = async (what, word) => {
    await page.click("#spawn [type=submit]");
    await page.waitForFunction((w) => document.querySelector("#spawn .warn:not([hidden])")?.textContent.includes(w), word, patience);
    report.yes(`${what} is refused`, true);
  };
  report.yes("the form asks for no agreement at first", !(await page.isVisible(yes)));
  await page.selectOption(mode, "all");
  report.yes("with the mode all it asks for agreement", await page.isVisible(yes));
  await refused("the mode all without agreement", "without-sandbox");
  await page.check(yes);
  await refused("a variable that Coleo uses itself", "COLEO_DIR");
  await page.selectOption(mode, "");
  report.yes("with another mode it asks for none", !(await page.isVisible(yes)));
  await page.selectOption(mode, "all");
  report.yes("an agreement is for one choice", !(await page.isChecked(yes)));
  await page.selectOption(mode, "");
}

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: ["--no-sandbox"] });
try {
  const page = await (await browser.newContext({ viewport: { width: 1280, height: 800 } })).newPage();
  await page.goto(link());
  await page.waitForSelector("[data-link=live]", { state: "attached" });
  await answer(page, "claude", "Approve", true);
  await answer(page, "opencode", "Deny", false);
  await compact(page, "claude");
  await recover(page, "claude");
  await make(page);
  await checkChanges(page, report, { show, events, shot: values.shot });
} finally {
  await browser.close();
}
process.exit(report.end());
