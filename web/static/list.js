// The list of arms, grouped by what the arms need.

import { doing } from "./doing.js";
import { arrange, el, setText, show } from "./dom.js";
import { ago, count, folder, labels, model, money, unseenFallback } from "./format.js";
import { parked, queued } from "./queue.js";
import { display, groups } from "./rules.js";

export class List {
  constructor(nav, hosts, store) {
    Object.assign(this, { nav, hosts, store });
    this.rows = new Map();
    this.sections = groups.map((g) => {
      const title = el("h2", { text: g.title });
      const list = el("ul");
      return { ...g, list, title, node: el("section", { hidden: true }, title, list) };
    });
    this.empty = el("p", { class: "empty" });
    this.nav.append(this.empty, ...this.sections.map((s) => s.node));
    this.selected = null;
  }

  /** Marks the row of the visible arm. */
  select(id) {
    const another = this.selected !== id;
    this.selected = id;
    for (const row of this.rows.values()) row.mark(row.id === id);
    if (another) this.rows.get(id)?.node.scrollIntoView({ block: "nearest" });
  }

  update() {
    const arms = [...this.store.arms.values()].sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true }));
    for (const id of this.rows.keys()) if (!this.store.arms.has(id)) this.rows.delete(id);
    for (const section of this.sections) {
      const here = arms.filter((a) => section.tones.includes(display(a).tone));
      arrange(section.list, here.map((a) => this.row(a).node));
      section.title.dataset.count = here.length;
      show(section.node, here.length > 0);
    }
    show(this.empty, arms.length === 0);
    setText(this.empty, this.store.known ? "No arms yet. Make one with “New arm”, or with coleo arm spawn." : "Loading the arms…");
    this.updateHosts();
  }

  row(arm) {
    let row = this.rows.get(arm.id);
    if (!row) this.rows.set(arm.id, (row = new Row(arm.id)));
    row.update(arm, this.store.displays.get(arm.id));
    row.mark(arm.id === this.selected);
    return row;
  }

  updateHosts() {
    const lines = this.store.hosts.map((h) =>
      el("p", { class: "host", data: { live: String(h.live) } },
        el("span", { class: "dot", "aria-hidden": "true" }),
        el("span", { text: h.hostname || h.agentId }),
        el("span", { class: "muted", text: h.live ? `${h.arms} of ${count(h.maxArms, "arm")}` : "not connected" }),
      ));
    if (this.store.known && lines.length === 0) lines.push(el("p", { class: "host muted", text: "No host agent is connected. To start one: coleo agent start" }));
    this.hosts.replaceChildren(...lines);
  }

  /** Updates the texts that depend on the time. */
  tick() {
    for (const row of this.rows.values()) row.tick();
  }
}

class Row {
  constructor(id) {
    this.id = id;
    this.name = el("span", { class: "name" });
    this.word = el("span", { class: "word" });
    this.health = el("span", { class: "health" });
    this.reason = el("span", { class: "reason" });
    this.now = el("p", { class: "now" }); // this line always exists, so the rows below do not move
    this.fallback = el("p", { class: "fallback" });
    this.facts = el("p", { class: "muted" });
    this.age = el("span", { class: "age", title: "Last output of the terminal" });
    this.link = el("a", { class: "row" },
      el("p", { class: "line" }, el("span", { class: "dot", "aria-hidden": "true" }), this.name, this.word),
      el("p", { class: "why" }, this.health, this.reason, this.age),
      this.now,
      this.fallback,
      this.facts,
    );
    this.node = el("li", {}, this.link);
  }

  update(arm, shown) {
    const { word, tone } = display(arm);
    this.arm = arm;
    this.link.dataset.tone = tone;
    this.link.setAttribute("href", `#/arm/${encodeURIComponent(arm.name)}`);
    setText(this.name, arm.name);
    setText(this.word, word);
    setText(this.health, arm.runtime?.state ?? "unknown");
    setText(this.reason, arm.dialog ? arm.dialog.title : (arm.suspensions?.[0]?.text ?? (parked(arm.queue) || arm.runtime?.reason || "")));
    show(this.now, tone !== "off");
    setText(this.now, doing(shown));
    this.now.title = shown?.text ?? "";
    setText(this.facts, [arm.parentArmId && (arm.config?.succeeds ? "successor" : "subarm"), queued(arm.queue), model(arm) || arm.harness, money(arm.totalCost), folder(arm.workdir), labels(arm.labels)].filter(Boolean).join(" · "));
    const asked = unseenFallback(arm);
    show(this.fallback, Boolean(asked));
    setText(this.fallback, asked && `Not the requested model ${asked}`);
    this.facts.title = [arm.harness, model(arm), arm.workdir].filter(Boolean).join("\n");
    this.tick();
  }

  mark(yes) {
    if (yes) this.link.setAttribute("aria-current", "true");
    else this.link.removeAttribute("aria-current");
  }

  tick() {
    setText(this.age, this.arm.lastOutputAt ? ago(this.arm.lastOutputAt) : "");
  }
}
