// The prompts that wait until the arm is idle.

import { button, el, setText, show } from "./dom.js";
import { armPath, call } from "./http.js";

/** Describes the queue in a few words. It returns "" if there is no queue. */
export function queued(queue) {
  if (!queue) return "";
  return `${queue.length ?? 0} queued${queue.sending ? ", 1 being sent" : ""}${queue.paused ? " (paused)" : ""}`;
}

/** Describes why the arm is parked, and until when. It returns "" if the arm is not parked. */
export function parked(queue) {
  const p = queue?.parked;
  if (!p) return "";
  const more = `${p.failed ? `; ${p.failed}` : ""}${p.next ? `; tries next: ${p.next}` : ""}`;
  if (!p.wake && p.next) return `${p.kind} limit: ${p.text}${more}`;
  if (!p.wake) return `Its ${p.kind} limit waits for you: ${p.why} (${p.text})${more}`;
  return `Parked until ${new Date(p.wake).toLocaleString()}, ${p.kind} limit: ${p.text}${more}`;
}

export class QueuePanel {
  constructor(arm, trouble) {
    Object.assign(this, { arm, trouble, seen: "" });
    this.title = el("summary");
    this.note = el("p", { class: "muted" });
    this.list = el("ol");
    this.toggle = button("Pause", () => this.act("POST", this.arm.queue?.paused ? "/resume" : "/pause"));
    this.node = el("details", { hidden: true }, this.title, this.note, this.list, this.toggle);
    this.node.addEventListener("toggle", () => this.node.open && this.load());
  }

  update(arm) {
    this.arm = arm;
    show(this.node, Boolean(arm.queue));
    setText(this.title, queued(arm.queue));
    setText(this.note, [parked(arm.queue), arm.queue?.paused && `Paused: ${arm.queue.paused}`, arm.queue?.held && `The first prompt was not sent: ${arm.queue.held}`].filter(Boolean).join(". "));
    setText(this.toggle, arm.queue?.paused ? "Resume" : "Pause");
    const now = `${arm.updatedAt} ${JSON.stringify(arm.queue)}`;
    if (this.node.open && now !== this.seen) this.load();
    this.seen = now;
  }

  async load() {
    try {
      this.fill((await call("GET", armPath(this.arm, "/queue"))).queue);
    } catch (e) {
      this.trouble(e);
    }
  }

  fill(queue) {
    this.list.replaceChildren(...(queue?.entries ?? []).map((e) =>
      el("li", {}, el("span", { text: e.text.slice(0, 300) }),
        button("Remove", () => this.act("DELETE", `/queue/${encodeURIComponent(e.id)}`)))));
  }

  async act(method, path) {
    try {
      this.trouble("");
      this.fill((await call(method, armPath(this.arm, path))).queue);
    } catch (e) {
      this.trouble(e);
    }
  }
}
