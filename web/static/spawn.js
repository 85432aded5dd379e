// The form that starts a new arm.

import { button, el, setText, show } from "./dom.js";
import { call } from "./http.js";

const remembered = "coleo.spawn"; // the key for the last choices in this browser

export class SpawnForm {
  constructor(dialog, store, { trouble, open }) {
    Object.assign(this, { dialog, store, trouble, open });
    this.built = false;
  }

  show() {
    if (!this.built) this.build();
    this.fill();
    this.dialog.showModal();
    this.name.focus();
    this.loadModels();
  }

  build() {
    this.built = true;
    this.name = el("input", { name: "name", required: true, pattern: "[A-Za-z0-9][A-Za-z0-9._\\-]{0,62}", autocomplete: "off", spellcheck: false, title: "Letters, digits, '.', '_' and '-'" });
    this.harness = el("select", { name: "harness", required: true, on: { change: () => this.about() } });
    this.workdir = el("input", { name: "workdir", required: true, autocomplete: "off", spellcheck: false, placeholder: "/path/to/project" });
    this.models = el("datalist", { id: "models" });
    this.model = el("input", { name: "model", list: "models", autocomplete: "off", spellcheck: false, placeholder: "The agent CLI chooses" });
    this.first = el("textarea", { name: "initialPrompt", rows: 3, placeholder: "Without a first prompt, the arm waits for you" });
    this.mode = el("select", { name: "permissionMode", on: { change: () => this.guard() } },
      ...[["", "Default"], ["ask", "Ask for every edit and command"], ["edit", "Edit without asking, ask for commands"], ["plan", "Plan only, change nothing"], ["all", "Ask nothing"]]
        .map(([value, text]) => el("option", { value, text })));
    this.yes = el("input", { type: "checkbox", name: "yesWithoutSandbox", id: "spawn-yes" });
    this.agree = el("label", { class: "check", for: "spawn-yes", hidden: true }, this.yes, "Allow this without a sandbox: the agent CLI then runs every command with your rights");
    this.host = el("select", { name: "agentId" });
    this.trust = el("input", { type: "checkbox", name: "trustWorkdir", id: "spawn-trust" });
    this.env = el("textarea", { name: "env", rows: 2, autocomplete: "off", spellcheck: false, placeholder: "NAME=VALUE, one on each line" });
    this.note = el("p", { class: "note" });
    this.error = el("p", { class: "warn", role: "alert", hidden: true });
    this.submit = el("button", { type: "submit", class: "primary", text: "Start" });
    this.form = el("form", { method: "dialog", on: { submit: (e) => this.send(e) } },
      el("h2", { id: "spawn-title", text: "New arm" }),
      field("Name", this.name), field("Harness", this.harness), this.note, field("Folder", this.workdir), field("Model", this.model),
      field("First prompt", this.first),
      el("details", {}, el("summary", { text: "More" }),
        field("Permissions", this.mode), this.agree, field("Host", this.host), field("Environment", this.env),
        el("p", { class: "note", text: "Coleo never shows the values of the environment again. An arm runs without a window. To open one: coleo arm open NAME" }),
        el("label", { class: "check", for: "spawn-trust" }, this.trust, "Trust the folder (Coleo writes this into the agent CLI's own settings)")),
      this.models, this.error,
      el("div", { class: "answers end" }, button("Cancel", () => this.dialog.close()), this.submit));
    this.dialog.append(this.form);
    this.dialog.addEventListener("close", () => { this.env.value = ""; }); // the values are secrets
  }

  fill() {
    const last = this.last();
    const installed = new Set(this.store.hosts.filter((h) => h.live).flatMap((h) => h.capabilities ?? []));
    const known = [...this.store.harnesses.values()].sort((a, b) => installed.has(b.name) - installed.has(a.name) || a.name.localeCompare(b.name));
    this.installed = installed;
    this.harness.replaceChildren(...known.map((h) =>
      el("option", { value: h.name, text: installed.has(h.name) ? h.title || h.name : `${h.title || h.name} (not installed)` })));
    if (known.some((h) => h.name === last.harness)) this.harness.value = last.harness;
    this.host.replaceChildren(el("option", { value: "", text: "Any" }),
      ...this.store.hosts.filter((h) => h.live).map((h) => el("option", { value: h.agentId, text: h.hostname || h.agentId })));
    this.workdir.value ||= last.workdir ?? "";
    this.name.value = this.freeName();
    show(this.error, false);
    this.guard();
    this.about();
  }

  /**
   * Shows the checkbox of the agreement if the new arm would ask nothing. Such an arm needs a sandbox, or this
   * agreement. An agreement holds for one arm.
   */
  guard() {
    show(this.agree, this.mode.value === "all");
    this.yes.checked = false;
  }

  last() {
    try {
      return JSON.parse(localStorage.getItem(remembered)) ?? {};
    } catch {
      return {};
    }
  }

  freeName() {
    for (let i = 1; ; i++) if (!this.store.find(`arm-${i}`)) return `arm-${i}`;
  }

  about() {
    const h = this.store.harnesses.get(this.harness.value);
    const missing = h && !this.installed.has(h.name);
    setText(this.note, missing ? `${h.title || h.name} is not installed on any connected host. To install it: ${h.install}` : "");
    show(this.note, Boolean(missing));
  }

  async loadModels() {
    if (this.models.children.length) return;
    try {
      const { providers } = await call("GET", "/api/opencode/providers");
      this.models.replaceChildren(...(providers ?? []).flatMap((p) => Object.values(p.models ?? {}).map((m) =>
        el("option", { value: `${p.id}/${m.id}`, text: [m.name, price(m)].filter(Boolean).join(", ") }))));
    } catch {
      // There is no list of models then. The field still accepts any name.
    }
  }

  async send(e) {
    e.preventDefault();
    const body = { name: this.name.value, harness: this.harness.value, workdir: this.workdir.value };
    for (const input of [this.model, this.first, this.mode, this.host]) if (input.value.trim()) body[input.name] = input.value.trim();
    if (this.mode.value === "all" && this.yes.checked) body.yesWithoutSandbox = true;
    if (this.trust.checked) body.trustWorkdir = true;
    if (this.env.value.trim()) body.env = variables(this.env.value);
    this.submit.disabled = true;
    setText(this.submit, "Starting…");
    try {
      const done = await call("POST", "/api/arms", body);
      localStorage.setItem(remembered, JSON.stringify({ harness: body.harness, workdir: body.workdir }));
      if (done.arm?.id) this.store.put(done.arm);
      this.first.value = this.env.value = "";
      this.dialog.close();
      this.open(body.name);
      this.trouble(done.warning || "");
    } catch (problem) {
      setText(this.error, problem.message);
      show(this.error, true);
    } finally {
      this.submit.disabled = false;
      setText(this.submit, "Start");
    }
  }
}

function field(label, input) {
  return el("label", { class: "field" }, el("span", { text: label }), input);
}

/** Returns the variables from lines of the form NAME=VALUE. The server refuses invalid names. */
function variables(text) {
  const lines = text.split(/\r?\n/).filter((line) => line.trim());
  return Object.fromEntries(lines.map((line) => {
    const at = line.indexOf("=");
    return at < 0 ? [line.trim(), ""] : [line.slice(0, at).trim(), line.slice(at + 1)];
  }));
}

/** Writes the price of a million tokens, in and out, in dollars. It returns "" if the catalogue has no price. */
function price(m) {
  const { input, output } = m.cost ?? m.pricing ?? {};
  return input === undefined ? "" : `$${input} in, $${output} out per million tokens`;
}
