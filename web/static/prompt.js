// The box that sends prompts. If no prompt can be sent, the box says why.

import { button, el, enable, setText, show } from "./dom.js";
import { prompting, working } from "./rules.js";

export class PromptBox {
  /** send(body) resolves to null after an error. */
  constructor(send) {
    this.send = send;
    this.text = el("textarea", { rows: 2, placeholder: "Prompt", "aria-label": "Prompt", "aria-describedby": "prompt-note" });
    this.first = el("input", { type: "checkbox", id: "prompt-first" });
    this.firstLabel = el("label", { class: "first", for: "prompt-first" }, this.first, "Interrupt the running turn");
    this.note = el("p", { id: "prompt-note", class: "note" });
    this.button = button("Send", () => this.submit(), { class: "primary" });
    this.node = el("section", { class: "prompt", "aria-label": "Send a prompt" },
      this.text, el("div", { class: "line" }, this.note, this.firstLabel, this.button));
    this.text.addEventListener("keydown", (e) => {
      if (e.key !== "Enter" || e.shiftKey || e.isComposing) return;
      e.preventDefault();
      this.button.click();
    });
    this.text.addEventListener("input", () => this.refresh());
    this.first.addEventListener("change", () => this.refresh());
  }

  update(arm, capabilities) {
    Object.assign(this, { arm, capabilities });
    this.refresh();
  }

  refresh() {
    if (!this.arm) return;
    const busy = working(this.arm) && this.capabilities?.interrupt !== false;
    show(this.firstLabel, busy);
    const { can, why } = prompting(this.arm, this.capabilities, busy && this.first.checked);
    this.can = can;
    this.text.disabled = !can && !busy;
    enable(this.button, can && this.text.value.trim() !== "", why);
    setText(this.note, this.said || why || "Enter sends, Shift+Enter begins a new line.");
    this.note.dataset.stop = String(!can);
  }

  async submit() {
    const prompt = this.text.value;
    if (!this.can || prompt.trim() === "") return;
    this.say("Sending, and waiting for proof that the prompt has arrived…");
    this.button.disabled = true;
    const done = await this.send({ prompt, interrupt: this.first.checked && working(this.arm) });
    this.say("");
    if (!done) return; // the text stays, so the user can send it again
    if (this.text.value === prompt) this.text.value = "";
    this.first.checked = false;
    const taken = done.receipt?.proof === "queued" ? "Queued." : "Delivered.";
    const cleared = done.receipt?.cleared;
    if (cleared) { // the removed text stays here until the next prompt, so that a person can type it again
      this.say(`${taken} Before that, Coleo removed this text from the composer: ${JSON.stringify(cleared)}`);
      return;
    }
    this.say(taken);
    setTimeout(() => this.say(""), 3000);
  }

  say(text) {
    this.said = text;
    this.refresh();
  }
}
