// Tests an attack: another user takes serve's port while serve is down, and gets everything that an open
// page sends. When serve is back, that user must not be able to use any of it:
//
//   node web/test/squat.mjs
//
// The test needs root, so that it can start a program as another user. It also needs bin/coleo, or the
// program in the variable COLEO.
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";
import { link } from "./link.mjs";
import { Report } from "./report.mjs";

if (process.getuid() !== 0) {
  console.log("skipped: only root may start a program of another user");
  process.exit(0);
}
const program = process.env.COLEO ?? "bin/coleo";
const nobody = 65534;
const report = new Report();

function freePort() {
  return new Promise((done) => {
    const s = createServer().listen(0, "127.0.0.1", () => {
      const { port } = s.address();
      s.close(() => done(port));
    });
  });
}

/** Waits until f returns a true value, and returns this value. */
async function until(what, f) {
  for (const end = Date.now() + 60000; ; await new Promise((r) => setTimeout(r, 50))) {
    const got = await f();
    if (got) return got;
    if (Date.now() > end) throw new Error(`not within a minute: ${what}`);
  }
}

async function serve() {
  const child = spawn(program, ["serve"], { stdio: ["ignore", "ignore", "inherit"] });
  const ended = new Promise((done) => child.on("exit", done));
  await until("serve answers", () => fetch(`${base}/api/health`).then((r) => r.ok, () => false));
  return { kill: () => (child.kill("SIGKILL"), ended) };
}

async function squat() {
  const code = readFileSync(new URL("squatter.mjs", import.meta.url), "utf8");
  const child = spawn(process.execPath, ["--input-type=module", "-e", code, String(port), String(beside)], {
    uid: nobody, gid: nobody, cwd: "/", env: {}, stdio: ["pipe", "pipe", "inherit"],
  });
  const got = [];
  const lines = createInterface({ input: child.stdout }).on("line", (l) => got.push(JSON.parse(l)));
  const done = new Promise((end) => lines.on("close", end));
  const { uid } = await until("the squatter listens", () => got.find((g) => g.uid));
  report.same("the squatter's user", uid, nobody);
  return { got, end: () => (child.stdin.end(), done) };
}

/** Sends a recorded request again, with its head edited by change. Returns the status and the body of the answer. */
function replay(r, change = (text) => text) {
  const headers = [];
  for (let i = 0; i < r.headers.length; i += 2) {
    if (!/^content-length$/i.test(r.headers[i])) headers.push(`${r.headers[i]}: ${r.headers[i + 1]}`);
  }
  if (r.body) headers.push(`Content-Length: ${Buffer.byteLength(r.body)}`);
  const raw = change(`${r.method} ${r.url} HTTP/1.1\r\n${headers.join("\r\n")}\r\n\r\n`) + r.body;
  return new Promise((done, fail) => {
    let text = "";
    const socket = connect(port, "127.0.0.1", () => socket.write(raw));
    const end = () => done({ status: Number(text.split(" ")[1]), body: text.split("\r\n\r\n").slice(1).join("\n") });
    socket.setEncoding("utf8").on("error", fail).on("end", end).on("data", (d) => {
      text += d;
      if (text.includes("\r\n\r\n")) socket.end();
    });
  });
}

const header = (r, name) => r.headers[r.headers.findIndex((h, i) => i % 2 === 0 && h.toLowerCase() === name) + 1];
const dir = mkdtempSync("/tmp/coleo.");
process.env.COLEO_DIR = dir;
const port = await freePort();
const beside = await freePort();
const base = `http://127.0.0.1:${port}`;
mkdirSync(join(dir, "config"), { recursive: true });
writeFileSync(join(dir, "config/config.toml"), `[serve]\naddr = "127.0.0.1:${port}"\n`);
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
let running = await serve();
try {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(link());
  await page.waitForSelector("[data-link=live]", { state: "attached" });
  await page.evaluate(async () => (globalThis.call = (await import("/http.js")).call));
  await page.evaluate(async () => (await import("/xterm.js")).load()); // the files that the page loads last
  await running.kill();

  const squatter = await squat();
  const { got } = squatter;
  await until("the page sends a WebSocket's handshake", () => got.find((r) => r.url?.startsWith("/ws")));
  await page.evaluate(() => globalThis.call("POST", "/api/arms/octavia/prompt", { prompt: "what the user types" }));
  await page.evaluate(() => globalThis.call("GET", "/api/arms?includeAll=true"));
  await page.evaluate(async () => (await import("/xterm.js")).load());
  report.same("files that the open page asked the squatter for", got.filter((r) => r.method === "GET" && !/^.(api|ws)/.test(r.url)), []);
  const fooled = await context.newPage();
  await fooled.goto(`http://127.0.0.1:${beside}/`);
  await fooled.goto(`${base}/`); // a reload while the other program answers
  await until("the squatter's worker is there", () => got.find((r) => r.url === "/worker.js"));
  await squatter.end();

  running = await serve();
  const requests = got.filter((r) => r.url && (r.url.startsWith("/api/") || r.url.startsWith("/ws")));
  const cookie = got.map((r) => r.headers && header(r, "cookie")).find((c) => c?.includes(`coleo_${port}`));
  report.yes("the squatter saw the cookie", Boolean(cookie));
  report.yes("another port saw the cookie", got.some((r) => r.port === beside && header(r, "cookie") === cookie));
  report.yes("the squatter saw requests that were signed", requests.some((r) => r.method === "POST" && header(r, "cookie")));
  const drawn = await replay({ method: "GET", url: "/api/signin", headers: ["Host", `127.0.0.1:${port}`, "Cookie", cookie], body: "" });
  const fresh = drawn.status === 200 ? JSON.parse(drawn.body.match(/\{.*\}/)[0]).nonce : "none";
  for (const r of requests) {
    if (r.method === "GET" && r.url === "/api/signin") continue; // a nonce alone gives no access
    for (const [how, change] of Object.entries({
      "as it came": undefined,
      "over a nonce of serve's": (t) => t.replace(/bm9uY2Ut[\w-]+/, fresh),
      "without its signature": (t) => t.replace(/^coleo-signature: .*\r\n/im, "").replace(/[?&]signature=\S+/, ""),
    })) {
      const { status } = await replay(r, change);
      const waits = status === 101 && how === "without its signature"; // without a signature, the server opens the WebSocket, but waits for a token in its first message
      report.yes(`${r.method} ${r.url.slice(0, 60)} ${how}: ${status}`, status === 401 || waits);
    }
  }
  for (const [method, path] of [["GET", "/api/arms"], ["POST", "/api/arms/octavia/kill"]]) {
    const { status } = await replay({ method, url: path, headers: ["Host", `127.0.0.1:${port}`, "Origin", base, "Cookie", cookie], body: "" });
    report.same(`${method} ${path} with the cookie alone`, status, 401);
  }

  await page.waitForSelector("[data-link=live]", { state: "attached" });
  report.same("what the page may ask, afterwards", await page.evaluate(() => globalThis.call("GET", "/api/arms").then((a) => a.arms)), []);
  await fooled.goto(base); // shows the page of the squatter's worker, until the browser looks for a newer worker
  await fooled.waitForSelector("[data-link=live]", { state: "attached", timeout: 60000 });
  report.same("workers of our origin", await fooled.evaluate(async () => (await navigator.serviceWorker.getRegistrations()).length), 0);
  execFileSync(program, ["web", "revoke", "--all"]);
  await page.waitForSelector("[data-link=refused]", { state: "attached" });
  report.yes("a page that was signed out says so", (await page.textContent("#trouble")).includes("coleo web"));
} catch (e) {
  report.wrong(e.stack);
} finally {
  await browser.close();
  await running.kill();
  rmSync(dir, { recursive: true, force: true });
}
process.exit(report.end());
