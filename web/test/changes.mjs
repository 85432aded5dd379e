// Reads the changes of an arm on the dashboard, comments on them, and sends the comments. It compares
// the page with the files and the events of the arm.
import { execFileSync } from "node:child_process";
import { appendFileSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { checkContrast, checkNames, checkWidth } from "./looks.mjs";

const patience = { timeout: 60000 }; // ms: real agent CLIs start slowly
const panel = ".more .changes";

const run = (program, ...args) => execFileSync(program, args, { encoding: "utf8" });

/** Makes a repository with one commit, and an arm that writes a file there. */
function prepare() {
  const repo = mkdtempSync(join(tmpdir(), "coleo-changes-"));
  const git = (...args) => run("git", "-C", repo, "-c", "user.name=Person", "-c", "user.email=person@example.org", ...args);
  git("init", "-q", "-b", "main");
  writeFileSync(join(repo, "poem.txt"), "one\ntwo\nthree\n");
  git("add", ".");
  git("commit", "-qm", "first");
  run("bin/coleo", "arm", "spawn", "-n", "changer", "--harness", "claude-code", "--model", "scripted", "-w", repo,
    "--permission-mode", "all", "--yes-without-sandbox");
  run("bin/coleo", "arm", "prompt", "changer", "--wait", "write hello.txt with Hello");
  return repo;
}

const texts = (page, selector) => page.$$eval(`${panel} ${selector}`, (all) => all.map((e) => e.textContent));

/** Comments on a line of a file, and keeps the comment. */
async function comment(page, file, line, text) {
  await page.click(`${panel} >> [aria-label="Comment on line ${line} of ${file}"]`);
  await page.fill(`${panel} >> textarea[aria-label="Comment on line ${line} of ${file}"]`, text);
  await page.click(`${panel} .writing >> text=Keep`);
  await page.waitForSelector(`${panel} .comment >> text=${text}`, patience);
}

/** Looks at the open panel in a wide and in a narrow window, in light and in dark. */
async function checkLooks(page, report) {
  const before = page.viewportSize();
  for (const width of [before.width, 390]) {
    await page.setViewportSize({ width, height: before.height });
    for (const colorScheme of ["dark", "light"]) {
      await page.emulateMedia({ colorScheme });
      const what = `changes, ${width}px ${colorScheme}`;
      await checkWidth(page, report, what);
      await checkNames(page, report, what);
      await checkContrast(page, report, what);
    }
  }
  await page.setViewportSize(before);
}

export async function checkChanges(page, report, { show, events, shot }) {
  const repo = prepare();
  await show(page, "changer");
  await page.click(`${panel} > summary`);
  await page.waitForSelector(`${panel} .file`, patience);
  report.same("the changed files", await texts(page, ".file .path"), ["hello.txt"]);
  report.same("the rows of the new file", await texts(page, "tr[data-kind=added] .code"), ["Hello"]);
  report.yes("the hunk names the tool", (await texts(page, ".hunk"))[0].includes("Write"));

  appendFileSync(join(repo, "poem.txt"), "four \u202e hidden\n"); // the panel follows the files
  await page.waitForFunction((p) => document.querySelectorAll(`${p} .file`).length === 2, panel, patience);
  report.same("the rows of both files", await texts(page, "tr[data-kind=added] .code"), ["Hello", "four \\u202e hidden"]);
  report.same("the rows around the change", await texts(page, "tr[data-kind=same] .code"), ["one", "two", "three"]);

  await comment(page, "hello.txt", 1, "say goodbye too");
  await page.click(`${panel} >> [aria-label="Comment on line 4 of poem.txt"]`);
  await page.fill(`${panel} >> textarea`, "half a thought");
  appendFileSync(join(repo, "poem.txt"), "five\n");
  await page.waitForSelector(`${panel} >> text=The files have changed`, patience);
  report.same("the comment that is being written", await page.inputValue(`${panel} >> textarea`), "half a thought");
  await page.click(`${panel} .writing >> text=Cancel`);
  await page.click(`${panel} >> text=The files have changed`);
  report.yes("the newer files are shown", (await texts(page, "tr[data-kind=added] .code")).includes("five"));
  report.same("the kept comments", await texts(page, ".comment"), ["say goodbye too"]);
  await checkLooks(page, report);
  if (shot) await page.screenshot({ path: shot.replace(/(\.png)?$/, "-changes.png"), fullPage: true });

  await page.click(`${panel} .unsent >> text=Send to the arm`);
  await page.waitForSelector(`${panel} .unsent`, { state: "hidden", ...patience });
  const sent = (await events("changer")).filter((e) => e.kind === "run_start").map((e) => e.payload.text);
  report.yes("the arm got the comment as one prompt", sent.length === 2 && sent[1].includes("hello.txt:1\nsay goodbye too"));
  report.same("the comments after that", await texts(page, ".comment"), []);
}
