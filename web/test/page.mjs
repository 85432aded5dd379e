// Tests the dashboard in a browser, against a server that runs:
//
//   node web/test/page.mjs http://127.0.0.1:8080 TOKEN [--spawn HARNESS --workdir DIR] [--shots DIR]
//
// What it finds it compares with what the API says. Without --spawn it changes
// nothing; with it, it makes an arm called page-test, prompts it, types into it,
// kills it and removes it. The browser is CHROMIUM, or /usr/bin/chromium.
import { chromium } from "playwright-core";
import { parseArgs } from "node:util";
import { checkArm, checkDialog, checkList, checkReconnect } from "./arms.mjs";
import { drive } from "./drive.mjs";
import { checkMute } from "./mute.mjs";
import { checkNames, checkContrast, checkWidth } from "./looks.mjs";
import { Report } from "./report.mjs";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { spawn: { type: "string" }, workdir: { type: "string" }, shots: { type: "string" } },
});
const [base, token] = positionals;
if (!base || !token) {
  console.error("usage: node web/test/page.mjs BASE_URL TOKEN [--spawn HARNESS --workdir DIR] [--shots DIR]");
  process.exit(2);
}

const report = new Report();
const api = async (path) => {
  const answer = await fetch(base + path, { headers: { "X-API-Key": token, Accept: "application/json" } });
  if (!answer.ok) throw new Error(`${path} answered ${answer.status}`);
  return answer.json();
};

/** Opens the dashboard as somebody who was given the link. */
async function open(browser, options = {}, before = async () => {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  const page = await context.newPage();
  page.on("console", (m) => m.type() === "error" && !m.text().startsWith("Failed to load resource") && report.wrong(`the console says: ${m.text()}`));
  page.on("pageerror", (e) => report.wrong(`a script broke: ${e.stack}`));
  page.on("request", (r) => !r.url().startsWith(base) && !r.url().startsWith("data:") && report.wrong(`it asks elsewhere: ${r.url()}`));
  await before(page);
  await page.goto(`${base}/?token=${token}`);
  await page.waitForSelector("[data-link=live]", { state: "attached" });
  return page;
}

async function checkDoor(browser) {
  const context = await browser.newContext();
  const page = await context.newPage();
  const shut = await page.goto(base);
  report.same("status without a token", shut.status(), 401);
  report.yes("the page without a token says what to do", (await page.textContent("body")).includes("coleo web"));
  await page.goto(`${base}/?token=${token}`);
  report.same("address behind the link", page.url(), `${base}/`);
  report.same("cookies that scripts can read", await page.evaluate(() => document.cookie), "");
  await context.close();
}

async function checkMissing(browser, arm) {
  const page = await open(browser, {}, (p) => p.route("**/dist/**", (r) => r.fulfill({ status: 404 })));
  await page.goto(`${base}/#/arm/${arm.name}`);
  await page.waitForSelector("text=built without xterm.js");
  report.yes("without xterm.js the prompt is still there", await page.isVisible(".prompt"));
  await page.context().close();
}

async function checkLooks(browser, arms) {
  for (const [width, height] of [[1280, 800], [390, 844]]) {
    for (const colorScheme of ["light", "dark"]) {
      const page = await open(browser, { viewport: { width, height }, colorScheme });
      const what = `${width}px ${colorScheme}`;
      for (const name of ["", ...arms.map((a) => a.name)]) {
        await page.goto(`${base}/#/${name ? `arm/${name}` : ""}`);
        await page.waitForSelector(name ? ".head h1" : "nav .row, nav .empty:not([hidden])");
        await checkWidth(page, report, `${what} ${name}`);
        await checkNames(page, report, `${what} ${name}`);
        await checkContrast(page, report, `${what} ${name}`);
        if (values.shots) await shoot(page, name || "list", width, colorScheme);
      }
      await page.context().close();
    }
  }
}

async function shoot(page, name, width, scheme) {
  await page.waitForTimeout(800); // the terminal draws
  await page.screenshot({ path: `${values.shots}/${name}-${width}-${scheme}.png` });
}

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
try {
  const { arms } = await api("/api/arms?includeAll=true");
  const { harnesses } = await api("/api/harnesses");
  await checkDoor(browser);
  const page = await open(browser);
  await checkList(page, report, api);
  await checkMute(page, report);
  for (const arm of arms) await checkArm(page, report, base, api, arm.name, harnesses);
  for (const arm of arms.filter((a) => a.dialog)) await checkDialog(page, report, base, arm);
  const live = arms.find((a) => a.status !== "stopped");
  if (live) await checkReconnect(await open(browser), report, base, live);
  if (arms.length) await checkMissing(browser, arms[0]);
  await checkLooks(browser, arms);
  if (values.spawn) await drive(page, report, base, api, values);
} catch (e) {
  report.wrong(e.stack);
} finally {
  await browser.close();
}
process.exit(report.end());
