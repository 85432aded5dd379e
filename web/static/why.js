// The panel that explains an arm's state. It shows the rule, the rows that the rule matched, the witnesses
// (what each source of the state says), and the signals for the arm's health.

import { el, setText } from "./dom.js";
import { age, ago } from "./format.js";
import { armPath, call } from "./http.js";

export class WhyPanel {
  constructor(arm, trouble) {
    Object.assign(this, { arm, trouble });
    this.body = el("div");
    this.node = el("details", {}, el("summary", { text: "Why this state" }), this.body);
    this.node.addEventListener("toggle", () => this.node.open && this.load());
  }

  update(arm) {
    const before = `${this.arm.state} ${this.arm.rule}`;
    this.arm = arm;
    if (this.node.open && before !== `${arm.state} ${arm.rule}`) this.load();
  }

  async load() {
    try {
      this.fill(await call("GET", armPath(this.arm, "/explain")));
    } catch (e) {
      this.body.replaceChildren(el("p", { class: "muted", text: e.message }));
    }
  }

  fill({ reading, witnesses, rows, blocked, disagreement, local }) {
    const parts = [el("p", { text: `${reading.state}, by ${reading.rule ? `the rule “${reading.rule}”` : "no rule"}, since ${ago(reading.since)}${reading.detail ? ` (${reading.detail})` : ""}.` })];
    if (!reading.known) parts.push(el("p", { class: "warn", text: "No rule recognizes this screen, so Coleo types nothing." }));
    if (local) parts.push(el("p", { class: "warn", text: `The arm ${local}.` }));
    if (blocked) parts.push(el("p", { class: "warn", text: `The arm cannot continue: ${blocked}.` }));
    if (disagreement) parts.push(el("p", { class: "warn", text: `The sources of the state disagree: ${disagreement}.` }));
    if (rows?.length) parts.push(el("pre", { text: rows.join("\n"), tabIndex: 0, "aria-label": "Rows that the rule matched" }));
    for (const w of witnesses ?? []) {
      parts.push(el("p", { class: "muted", text: `${w.name} says ${w.state || "nothing"}${w.rule ? ` (${w.rule}${w.detail ? `: ${w.detail}` : ""})` : ""}${w.lapsed ? ", lapsed" : ""}, ${ago(w.time)}` }));
    }
    parts.push(this.signals());
    this.body.replaceChildren(...parts);
  }

  signals() {
    const r = this.arm.runtime ?? {};
    const since = (s) => (s === null || s === undefined ? "none" : age(s));
    const node = el("p", { class: "muted" });
    setText(node, `Signals: heartbeat ${since(r.secondsSinceHeartbeat)}, activity ${since(r.secondsSinceActivity)}, output ${since(r.secondsSinceOutput)}; ` +
      `status ${this.arm.status}, process ${this.arm.pid || "none"}, conversation ${this.arm.sessionId || "none"}, host agent ${r.local ? "none" : this.arm.agentId || "none"}, generation ${this.arm.generation}.`);
    return node;
  }
}
