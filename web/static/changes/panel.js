// The panel with the changes that an arm has made in its folder. A person can comment on lines there, and
// send all comments to the arm as one prompt. While the panel is open, it also shows new changes.

import { factsOf, fromFolder, mostRows, patchOf, rowsOf, sizeOf, visible, whyOf } from "./diff.js";
import { button, el, setText, show } from "../dom.js";
import { count } from "../format.js";
import { armPath, call } from "../http.js";

const wait = "30s"; // how long the server waits for a change of the files before it answers
const openAtMost = 300; // if a diff has more changed lines, the parts of its files are closed at first

export class ChangesPanel {
  constructor(arm, trouble) {
    Object.assign(this, { arm, trouble, comments: [], opened: new Map(), following: null });
    this.size = el("p", { class: "muted" });
    this.note = el("p", { class: "warn", hidden: true });
    this.again = button("Read again", () => this.load(), { hidden: true });
    this.newer = button("The files have changed: show them", () => this.showNewer(), { hidden: true });
    this.unsent = el("span");
    this.sending = el("p", { class: "unsent", hidden: true }, this.unsent,
      button("Send to the arm", () => this.send()), button("Delete the comments", () => this.drop()));
    this.files = el("div", { class: "files" });
    this.node = el("details", { class: "changes" }, el("summary", { text: "Changes" }), this.size, this.note,
      this.again, this.sending, this.newer, this.files);
    this.node.addEventListener("toggle", () => (this.node.open ? this.load() : this.close()));
  }

  update(arm) {
    this.arm = arm;
  }

  /** Reads the diff and the comments, and then follows the diff. */
  async load() {
    this.close();
    const own = (this.following = new AbortController());
    show(this.again, false);
    try {
      this.comments = (await call("GET", armPath(this.arm, "/comments"))).comments ?? [];
      let diff = await this.read("", own.signal);
      this.take(diff);
      while (diff.mark && !own.signal.aborted) {
        const next = await this.read(`&since=${encodeURIComponent(diff.mark)}`, own.signal);
        if (next.unchanged) continue;
        diff = next;
        this.take(diff);
      }
    } catch (e) {
      if (own.signal.aborted) return;
      this.say(e.message);
    }
    show(this.again, !own.signal.aborted);
  }

  /**
   * Reads the diff once. With the mark of a diff, the next request waits until the files have changed. If the
   * server cannot follow the files, the diff has no mark.
   */
  async read(since, signal) {
    const path = (more) => armPath(this.arm, `/diff?why=true${more}`);
    try {
      return await call("GET", path(`&wait=${wait}${since}`), undefined, signal);
    } catch (e) {
      if (e.code !== "unsupported") throw e;
      return call("GET", path(""), undefined, signal);
    }
  }

  /** Shows a newer diff. While somebody writes a comment, the panel instead shows a button for the newer diff. */
  take(diff) {
    if (this.files.querySelector("textarea")) {
      this.waiting = diff;
      show(this.newer, true);
      return;
    }
    this.fill(diff);
  }

  showNewer() {
    this.fill(this.waiting);
  }

  say(text) {
    setText(this.note, text);
    show(this.note, text !== "");
  }

  fill(diff) {
    Object.assign(this, { diff, patch: patchOf(diff), waiting: null });
    show(this.newer, false);
    const files = diff.files ?? [];
    const { added, deleted } = sizeOf(files);
    setText(this.size, files.length
      ? `${count(files.length, "file")}, +${added} −${deleted}${diff.base ? `, since ${diff.base.slice(0, 10)}` : ""}`
      : "The arm has changed nothing.");
    this.say([diff.cut, ...(diff.left ?? []).slice(0, 5).map((l) => `${visible(l.path)}: ${l.why}`)].filter(Boolean).join(" "));
    this.files.replaceChildren(...files.map((f) => this.file(f, added + deleted <= openAtMost)));
    this.showUnsent();
  }

  /** Makes the part of the panel for one file. The rows of the file are made only when the part is opened. */
  file(file, open) {
    const rows = el("div", { class: "rows" });
    const node = el("details", { class: "file", open: this.opened.get(file.path) ?? open },
      el("summary", {}, el("span", { class: "path", text: visible(file.path) }),
        el("span", { class: "added", text: `+${file.linesAdded}` }), el("span", { class: "deleted", text: `−${file.linesDeleted}` }),
        el("span", { class: "muted", text: factsOf(file) })), rows);
    const fill = () => node.open && !rows.children.length && rows.append(...this.rows(file));
    node.addEventListener("toggle", () => {
      this.opened.set(file.path, node.open);
      fill();
    });
    fill();
    return node;
  }

  rows(file) {
    if (!file.hunks?.length) return [el("p", { class: "muted", text: file.binary ? "Git does not compare the lines of this file." : "No line has changed." })];
    const path = fromFolder(this.diff, this.arm.workdir ?? "", file.path);
    const out = [];
    let shown = 0;
    for (const hunk of file.hunks) {
      const rows = rowsOf(this.patch, hunk);
      if ((shown += rows.length) > mostRows) {
        out.push(el("p", { class: "warn", text: `This file has more rows. To see them all: coleo arm diff ${this.arm.name} -- ${visible(path)}` }));
        break;
      }
      out.push(el("p", { class: "hunk", title: hunk.why?.note ?? "" }, el("span", { text: `Line ${hunk.newStart}` }),
        el("span", { text: visible(hunk.section ?? "") }), el("span", { text: visible(whyOf(hunk.why)) })));
      const table = el("table", {}, el("tbody", {}, ...rows.flatMap((row) => this.row(row, path))));
      out.push(el("div", { class: "scroll", tabIndex: 0, role: "group", "aria-label": `Rows of ${path} from line ${hunk.newStart}` }, table));
    }
    return out;
  }

  /** Makes a row, and the rows of its comments. */
  row(row, path) {
    const number = el("td", { class: "number" });
    const tr = el("tr", { data: { kind: row.kind } }, el("td", { class: "number", text: row.before || "" }), number,
      el("td", { class: "sign", text: { added: "+", deleted: "−" }[row.kind] ?? "" }), el("td", { class: "code", text: row.text }));
    if (!row.after) return [tr];
    number.append(button(`${row.after}`, () => this.write(tr, path, row.after), { "aria-label": `Comment on line ${row.after} of ${path}` }));
    return [tr, ...this.comments.filter((c) => c.path === path && c.line === row.after).map(commentRow)];
  }

  /** Opens the field for a comment below a row. */
  write(tr, path, line) {
    const old = tr.nextElementSibling;
    if (old?.classList.contains("writing")) return void old.querySelector("textarea").focus();
    const text = el("textarea", { rows: 2, "aria-label": `Comment on line ${line} of ${path}` });
    const at = el("tr", { class: "writing" }, el("td", { colSpan: 4 }, text,
      button("Keep", async () => {
        if (await this.keep({ path, line, text: text.value })) at.replaceWith(commentRow(this.comments.at(-1)));
      }), button("Cancel", () => at.remove())));
    tr.after(at);
    text.focus();
  }

  async keep(comment) {
    const kept = await this.change("POST", "/comments", comment);
    return kept !== null;
  }

  async drop() {
    if (await this.change("DELETE", "/comments")) this.forget();
  }

  async send() {
    if (await this.change("POST", "/comments/send")) this.forget();
  }

  /** Removes the comments from the page. A comment that is being written stays. */
  forget() {
    this.files.querySelectorAll("tr.comment").forEach((row) => row.remove());
  }

  /** Changes the comments on the server. After an error, it shows the error and returns null. */
  async change(method, path, body) {
    try {
      this.trouble("");
      const done = await call(method, armPath(this.arm, path), body);
      this.comments = method === "POST" && body ? done.comments : [];
      this.showUnsent();
      return done ?? {};
    } catch (e) {
      this.trouble(e);
      return null;
    }
  }

  showUnsent() {
    show(this.sending, this.comments.length > 0);
    setText(this.unsent, `${count(this.comments.length, "comment")} not sent.`);
  }

  /** Reads the files again, because the server is back. */
  wake() {
    if (this.node.open && !this.again.hidden) this.load();
  }

  /** Stops following the files. */
  close() {
    this.following?.abort();
    this.following = null;
  }
}

function commentRow(comment) {
  return el("tr", { class: "comment" }, el("td", { colSpan: 4 }, el("p", { text: comment.text })));
}
