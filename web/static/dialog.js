// The open question of an arm, and the buttons that answer it. Each answer names its
// dialog. If the dialog has changed meanwhile, the server refuses the answer.

import { visible } from "./changes/diff.js";
import { button, el, setText, show } from "./dom.js";

const kinds = {
  permission: "Asks for permission",
  question: "Has a question",
  trust: "Asks whether to trust the folder",
  login: "Wants you to sign in",
  plan: "Has a plan",
  update: "Offers an update",
  other: "Asks something",
};

/** The kinds of dialog in which the user approves or denies something. In the others, the user answers a question. */
const approvals = ["permission", "trust", "plan"];

/** Reports whether no rule of Coleo knows the dialog. */
const isUnknown = (d) => d.kind === "other" && d.title === "unknown" && !d.options?.length;

/**
 * Returns the question that the arm's model has asked with one of Coleo's tools. The question
 * has the form of a dialog, and its fingerprint is the id of the suspension. Returns null if
 * there is no question.
 */
export function questionOf(arm) {
  const s = arm.suspensions?.[0];
  if (!s) return null;
  const [title, ...rest] = s.text.split("\n");
  const kind = { question: "question", plan: "plan", access: "permission", subarm: "permission", message: "permission" }[s.kind] ?? "other";
  return { kind, title, subject: rest.join("\n"), options: s.options, several: s.several, fingerprint: s.id, suspension: true };
}

/** Converts an answer of the panel into the body of the request that answers a suspension, a question of the model. */
function suspensionAnswer(d, { choice, option, options, words }) {
  return { id: d.fingerprint, decision: choice === "answer" ? undefined : choice, option, options, text: words };
}

/**
 * Returns a dialog with texts in which a person sees every character. An arm's model writes the texts, and a person
 * must not approve what a browser hides.
 */
function legible(d) {
  const text = (t) => t && visible(t);
  return { ...d, title: text(d.title), subject: text(d.subject), options: d.options?.map(text) };
}

/**
 * How long the buttons of a new dialog do nothing, in milliseconds. Otherwise, a click on the dialog that was here
 * before could answer the new one.
 */
const rest = 700;

/** Returns a name that an element of the dialog keeps when the dialog is drawn again. */
const nameOf = (node) => node.name || node.textContent;

export class DialogPanel {
  /** respond(path, body) sends an answer. lease() returns the id of this viewer's lease on the terminal, or "". */
  constructor(respond, lease) {
    Object.assign(this, { respond, lease, shown: "", drawn: "", busy: "" });
    this.node = el("section", { class: "dialog", hidden: true, "aria-live": "assertive", "aria-label": "Dialog" });
  }

  /** Draws the dialog. If it is the same dialog with a change, the user's unsent input stays. */
  update(dialog) {
    const [shown, drawn] = [dialog?.fingerprint ?? "", dialog ? JSON.stringify(dialog) : ""];
    if (drawn === this.drawn) return;
    const same = shown === this.shown;
    const kept = same ? this.entered() : null;
    if (!same) {
      this.busy = "";
      clearTimeout(this.resting);
      this.resting = setTimeout(() => {
        this.resting = 0;
        this.relock();
      }, rest);
    }
    const parts = dialog ? this.parts(legible(dialog)) : [];
    Object.assign(this, { shown, drawn });
    show(this.node, Boolean(dialog));
    this.node.replaceChildren(...parts);
    if (kept) this.enter(kept);
    this.relock();
  }

  /** Returns the user's unsent input, and where the focus is. */
  entered() {
    const isChanged = (i) => (i.type === "checkbox" ? i.checked !== i.defaultChecked : i.value !== i.defaultValue);
    const changed = [...this.node.querySelectorAll("input")].filter(isChanged);
    const focus = this.node.contains(document.activeElement) ? nameOf(document.activeElement) : "";
    return { changed, focus, open: Boolean(this.node.querySelector("details[open]")) };
  }

  /** Restores what entered() has returned. */
  enter({ changed, focus, open }) {
    for (const old of changed) {
      const input = this.node.querySelector(`input[name="${old.name}"]`);
      if (input) Object.assign(input, old.type === "checkbox" ? { checked: old.checked } : { value: old.value });
    }
    const details = this.node.querySelector("details");
    if (details) details.open = open;
    if (focus) [...this.node.querySelectorAll("button, input, summary, pre")].find((n) => nameOf(n) === focus)?.focus();
  }

  parts(d) {
    const asks = d.several || !approvals.includes(d.kind);
    return [
      el("p", { class: "kind", text: this.busy || this.kind(d) }),
      el("h2", { text: d.title }),
      d.subject ? el("pre", { class: "subject", tabIndex: 0, "aria-label": "Subject of the dialog", text: d.subject }) : null,
      d.truncated ? el("p", { class: "warn", text: "The screen cuts this off: look at the terminal before you approve." }) : null,
      ...this.answers(d, asks),
    ].filter(Boolean);
  }

  kind(d) {
    if (isUnknown(d)) return "Shows a dialog that Coleo does not know";
    const kind = kinds[d.kind] ?? kinds.other;
    return d.pages > 1 && d.page > 0 ? `${kind} (${d.page} of ${d.pages})` : kind;
  }

  answers(d, asks) {
    if (isUnknown(d)) return [this.key(d)];
    if (d.several && d.options?.length) return [...this.several(d), d.suspension ? this.words(d) : null];
    return [this.options(d, asks), asks ? this.words(d, this.dismiss(d)) : this.choices(d)];
  }

  /** Returns the options to tick, and the button that submits them. One option may have a text field. */
  several(d) {
    const boxes = d.options.map((text, i) => {
      const box = el("input", { type: "checkbox", name: `option-${i + 1}`, defaultChecked: Boolean(d.ticked?.includes(i + 1)) });
      const typed = i + 1 === d.text_option ? el("input", { type: "text", name: `text-${i + 1}`, "aria-label": text, value: d.typed ?? "", autocomplete: "off" }) : null;
      typed?.addEventListener("input", () => (box.checked = typed.value !== ""));
      return { box, typed, row: el("li", {}, el("label", {}, box, el("span", { text })), typed) };
    });
    const submit = button("Submit", () => {
      const words = boxes.find((b) => b.typed)?.typed.value || undefined;
      const options = boxes.flatMap((b, i) => (b.box.checked && !b.typed ? [i + 1] : []));
      return this.send(d, { choice: "answer", options, words });
    }, { class: "primary" });
    return [
      el("ol", { class: "options several" }, ...boxes.map((b) => b.row)),
      el("div", { class: "answers" }, submit, this.dismiss(d)),
    ];
  }

  /** Returns a field for the name of one key. It is for a dialog that no rule knows. */
  key(d) {
    const field = el("input", { type: "text", name: "key", "aria-label": "One key", placeholder: "One key: ESCAPE, ENTER, y", autocomplete: "off" });
    const press = button("Press the key", () => field.value && this.send(d, { choice: "answer", key: field.value }));
    return el("div", { class: "answers" }, field, press);
  }

  choices(d) {
    return el("div", { class: "answers", role: "group", "aria-label": "Answer" },
      button("Approve", () => this.send(d, { choice: "approve" }), { class: "primary" }),
      d.suspension ? null : button("Approve always", () => this.send(d, { choice: "approve_always" })),
      button("Deny", () => this.send(d, { choice: "deny" }), { class: "deny" }),
    );
  }

  /** Returns the options in the same order as on the screen. Each option is a button that sends the answer. */
  options(d, asks) {
    if (!d.options?.length) return null;
    const list = el("ol", { class: "options" }, ...d.options.map((text, i) => {
      const pick = button(text, () => this.send(d, { choice: "answer", option: i + 1 }), { class: "option" });
      if (i === d.default) pick.dataset.default = "true";
      return el("li", {}, pick);
    }));
    if (asks) return list;
    return el("details", { class: "as-shown" }, el("summary", { text: "The options of the agent CLI" }), list);
  }

  /** Returns a field for an answer in words, and further buttons. */
  words(d, ...buttons) {
    const field = el("input", { type: "text", name: "words", "aria-label": "Answer in words", placeholder: "Answer in words", autocomplete: "off" });
    const send = button("Answer", () => field.value && this.send(d, { choice: "answer", words: field.value }));
    field.addEventListener("keydown", (e) => e.key === "Enter" && !e.isComposing && send.click());
    return el("div", { class: "answers" }, field, send, ...buttons);
  }

  dismiss(d) {
    return button("Dismiss", () => this.send(d, { choice: "deny" }), { class: "deny", title: "Answer no, or close the dialog" });
  }

  async send(d, answer) {
    this.busy = "Answering…";
    this.lock(true);
    setText(this.node.firstElementChild, this.busy);
    const done = d.suspension
      ? await this.respond("/suspension", suspensionAnswer(d, answer))
      : await this.respond("/respond", { dialog: d.fingerprint, ...answer, lease: this.lease() || undefined });
    if (this.shown !== d.fingerprint) return;
    this.busy = done ? "Answered" : "";
    setText(this.node.firstElementChild, this.busy || this.kind(d));
    this.relock();
  }

  /** Disables the buttons while an answer is on its way, and while the dialog is too new for a click. */
  relock() {
    this.lock(Boolean(this.busy || this.resting));
  }

  lock(yes) {
    for (const b of this.node.querySelectorAll("button, input")) b.disabled = yes;
  }
}
