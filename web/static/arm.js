// The view of one arm: its state, its buttons and its terminal.

import { Activity } from "./activity.js";
import { ChangesPanel } from "./changes/panel.js";
import { doing, tasks } from "./doing.js";
import { DialogPanel, questionOf } from "./dialog.js";
import { button, el, enable, setText, show } from "./dom.js";
import { ago, budget, labels, model, money, priced, tokens, unseenFallback, windowState } from "./format.js";
import { armPath, call } from "./http.js";
import { PromptBox } from "./prompt.js";
import { QueuePanel } from "./queue.js";
import { compacting, display, interrupting, killing, recovery, spawning } from "./rules.js";
import { TerminalView } from "./terminal.js";
import { WhyPanel } from "./why.js";

const sure = 4000; // ms in which the user must press the button again to confirm

export class ArmView {
  constructor(main, arm, store, { trouble, leave }) {
    Object.assign(this, { main, arm, store, trouble, leave, id: arm.id });
    this.terminal = new TerminalView(arm, { trouble });
    this.dialog = new DialogPanel((path, body) => this.act(path, body), () => this.terminal.lease);
    this.prompt = new PromptBox((body) => this.act("/prompt", { ...body, lease: this.terminal.lease || undefined }));
    this.queue = new QueuePanel(arm, trouble);
    this.why = new WhyPanel(arm, trouble);
    this.changes = new ChangesPanel(arm, trouble);
    this.activity = new Activity(arm, store, trouble);
    main.replaceChildren(this.head(), this.dialog.node, this.terminal.node, this.prompt.node,
      el("div", { class: "more" }, this.queue.node, this.changes.node, this.why.node, this.activity.node));
  }

  head() {
    this.name = el("h1", { tabIndex: -1 });
    this.word = el("span", { class: "word" });
    this.dot = el("span", { class: "dot", "aria-hidden": "true" });
    this.health = el("p", { class: "why" });
    this.now = el("p", { class: "now" });
    this.facts = el("dl", { class: "facts" });
    this.fallbackText = el("span");
    this.fallback = el("p", { class: "fallback", role: "status" }, this.fallbackText, button("Seen", () => this.act("/model", { seen: true })));
    return el("header", { class: "head" },
      el("a", { class: "back", href: "#/", "aria-label": "Back to the list of arms", text: "‹ Arms" }),
      el("div", { class: "title" }, this.dot, this.name, this.word),
      this.health,
      this.now,
      this.buttons(),
      this.fallback,
      this.facts,
    );
  }

  buttons() {
    this.interrupt = button("Interrupt", () => this.act("/interrupt"));
    this.compact = button("Compact", () => this.act("/compact"));
    this.window = button("Open window", () => this.act("/window", {}));
    this.recover = button("Recover", () => this.act("/recover"));
    this.spawn = button("Spawn", () => this.act("/spawn", {}));
    this.kill = this.careful("Kill", "Press again to kill", () => this.act("/kill"));
    this.remove = this.careful("Remove", "Press again to remove", () => this.forget());
    return el("div", { class: "actions", role: "group", "aria-label": "Actions" },
      this.interrupt, this.compact, this.window, this.recover, this.spawn, this.kill, this.remove);
  }

  /** Makes a button that must be pressed twice. After the first press, its label asks again. */
  careful(label, again, act) {
    let timer = 0;
    const calm = () => {
      clearTimeout(timer);
      timer = 0;
      setText(node, label);
      node.classList.remove("danger");
    };
    const node = button(label, async () => {
      if (timer) {
        calm();
        await act();
        return;
      }
      setText(node, again);
      node.classList.add("danger");
      timer = setTimeout(calm, sure);
    });
    node.addEventListener("blur", calm);
    return node;
  }

  /** Sends a command. It returns the answer. After an error, it shows the error and returns null. */
  async act(path, body) {
    try {
      this.trouble("");
      const done = await call("POST", armPath(this.arm, path), body);
      if (done?.warning) this.trouble(done.warning);
      return done ?? {};
    } catch (e) {
      this.trouble(e);
      return null;
    } finally {
      this.store.refresh();
    }
  }

  async forget() {
    try {
      await call("DELETE", armPath(this.arm));
      this.leave();
    } catch (e) {
      this.trouble(e);
    }
  }

  update(arm) {
    const can = this.store.capabilities(arm);
    const { word, tone } = display(arm);
    this.arm = arm;
    this.main.dataset.tone = tone;
    setText(this.name, arm.name);
    setText(this.word, word);
    setText(this.health, [arm.runtime?.state, arm.runtime?.reason].filter(Boolean).join(": "));
    show(this.fallback, Boolean(unseenFallback(arm)));
    if (unseenFallback(arm)) setText(this.fallbackText, `The model is ${priced(arm.modelFallback.used)} instead of ${priced(arm.modelFallback.asked)}, per million tokens: ${arm.modelFallback.reason}`);
    this.updateButtons(arm, can);
    this.dialog.update(arm.dialog ?? questionOf(arm));
    this.prompt.update(arm, can);
    this.terminal.update(arm);
    this.queue.update(arm);
    this.changes.update(arm);
    this.why.update(arm);
    this.tick();
  }

  updateButtons(arm, capabilities) {
    const [back, fresh, end, stop] = [recovery(arm), spawning(arm), killing(arm), interrupting(arm, capabilities)];
    const shorten = compacting(arm, capabilities);
    enable(this.interrupt, stop.can, stop.why);
    enable(this.compact, shorten.can, shorten.why);
    show(this.compact, !!capabilities?.compact);
    show(this.window, arm.window?.state === "closed" || arm.window?.state === "failed");
    setText(this.recover, back.label);
    enable(this.recover, back.can, back.why);
    enable(this.spawn, fresh.can, fresh.why);
    enable(this.kill, end.can, end.why);
    show(this.kill, end.can);
    show(this.remove, !end.can);
  }

  tick() {
    const a = this.arm;
    const shown = this.store.displays.get(a.id);
    show(this.now, display(a).tone !== "off");
    setText(this.now, doing(shown));
    this.now.title = shown?.text ?? "";
    const cost = [money(a.totalCost), a.totalTokens ? `${tokens(a.totalTokens)} tokens` : ""].filter(Boolean).join(", ");
    this.setFacts([
      ["Tasks", tasks(shown)],
      ["Harness", a.harness],
      ["Model", model(a)],
      ["Cost", cost],
      ["Budget", budget(a.budget)],
      ["Mode", shown?.mode || a.mode],
      ["Labels", labels(a.labels)],
      ["Window", windowState(a.window)],
      ["Folder", a.workdir],
      ["Variables", (a.config?.env_names ?? []).join(", ")],
      ["Host", a.host],
      ["Last output", a.lastOutputAt ? ago(a.lastOutputAt) : ""],
    ]);
  }

  setFacts(facts) {
    const shown = facts.filter(([, value]) => value);
    const names = shown.map(([name]) => name).join();
    if (this.facts.dataset.names !== names) {
      this.facts.dataset.names = names;
      this.facts.replaceChildren(...shown.map(([name]) => el("div", {}, el("dt", { text: name }), el("dd"))));
    }
    shown.forEach(([, value], i) => setText(this.facts.children[i].lastElementChild, value));
  }

  /** Connects the terminal again, and follows the files again, because the server is back. */
  wake() {
    this.terminal.retry.soon();
    this.changes.wake();
  }

  close() {
    this.terminal.close();
    this.activity.close();
    this.changes.close();
    delete this.main.dataset.tone;
    this.main.replaceChildren();
  }
}
