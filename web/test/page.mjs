// Tests the dashboard in a browser, against a server that runs:
//
//   node web/test/page.mjs http://127.0.0.1:8080 TOKEN [--spawn HARNESS --workdir DIR] [--shots DIR]
//
// The links to the page come from `coleo web` (link.mjs). The test compares the page with the
// API. Without --spawn, it changes nothing. With --spawn, it starts an arm called page-test, sends a
// prompt, types, kills the arm and removes it. The variable CHROMIUM can name another browser than
// /usr/bin/chromium.
import { chromium } from "playwright-core";
import { parseArgs } from "node:util";
import { checkArm, checkDialog, checkDoing, checkList, checkReconnect } from "./arms.mjs";
import { drive } from "./drive.mjs";
import { link } from "./link.mjs";
import { checkMute } from "./mute.mjs";
import { checkPanel } from "./panel.mjs";
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

/** Opens the dashboard with the link. */
async function open(browser, options = {}, before = async () => {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  const page = await context.newPage();
  page.on("console", (m) => m.type() === "error" && !m.text().startsWith("Failed to load resource") && report.wrong(`the console says: ${m.text()}`));
  page.on("pageerror", (e) => report.wrong(`a script broke: ${e.stack}`));
  page.on("request", (r) => !r.url().startsWith(base) && !r.url().startsWith("data:") && report.wrong(`it asks elsewhere: ${r.url()}`));
  await before(page);
  await page.goto(link());
  await page.waitForSelector("[data-link=live]", { state: "attached" });
  return page;
}

async function checkDoor(browser) {
  const context = await browser.newContext();
  const page = await context.newPage();
  const shut = await page.goto(base);
  report.same("status without a link", shut.status(), 401);
  report.yes("the page without a link says what to do", (await page.textContent("body")).includes("coleo web"));
  const once = link();
  const asked = [];
  page.on("request", (r) => asked.push(r.url(), JSON.stringify(r.headers())));
  await page.goto(once);
  await page.waitForSelector("[data-link=live]", { state: "attached" });
  report.same("address behind the link", page.url(), `${base}/`);
  report.same("addresses and headers with the code", asked.filter((a) => a.includes(once.split("#")[1])), []);
  report.same("addresses and headers with the token", asked.filter((a) => a.includes(token)), []);
  report.same("cookies that scripts can read", await page.evaluate(() => document.cookie), "");
  report.same("the key can be read", await page.evaluate(keyCanBeRead), false);
  const [cookie] = await context.cookies();
  report.same("the cookie alone", (await fetch(`${base}/api/arms`, { headers: { Cookie: `${cookie.name}=${cookie.value}` } })).status, 401);
  await page.goto(once);
  await page.waitForSelector("#state:not([hidden])");
  report.yes("a link that was used says so", (await page.textContent("#state")).includes("used already"));
  await page.click("text=go on to the dashboard");
  await page.waitForSelector("[data-link=live]", { state: "attached" });
  await context.close();
}

/** Runs in the page. Reports whether a script can export the private key from the browser. */
async function keyCanBeRead() {
  const db = await new Promise((done) => (indexedDB.open("coleo").onsuccess = (e) => done(e.target.result)));
  const key = await new Promise((done) => (db.transaction("keys").objectStore("keys").get("sign").onsuccess = (e) => done(e.target.result)));
  db.close();
  return crypto.subtle.exportKey("jwk", key).then(() => true, () => key.extractable);
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
  await page.waitForTimeout(800); // time for the terminal to draw
  await page.screenshot({ path: `${values.shots}/${name}-${width}-${scheme}.png` });
}

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
try {
  const { arms } = await api("/api/arms?includeAll=true");
  const { harnesses } = await api("/api/harnesses");
  await checkDoor(browser);
  const page = await open(browser);
  await checkList(page, report, api);
  await checkDoing(page, report, api);
  await checkMute(page, report);
  await checkPanel(page, report);
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
