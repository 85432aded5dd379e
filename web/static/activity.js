// The panel with the newest entries of an arm's log. It shows new entries as they come.

import { el } from "./dom.js";
import { budget, labels } from "./format.js";
import { armPath, call } from "./http.js";

const most = 60; // the maximum number of shown entries
const page = 1000; // the number of entries in one request

// The text for each kind of event that this panel shows. The conversation shows all other kinds: see
// kindsInConversation in web/words_test.go.
const words = {
  "arm.spawned": () => "Started",
  "arm.reattached": () => "The host agent is attached to the arm again",
  "arm.stopped": (p) => `Ended${p?.exit_code !== undefined ? `, exit code ${p.exit_code}` : ""}`,
  "arm.orphaned": (p) => `Processes of the arm are left: ${p?.text ?? ""}`,
  budget: (p) => `Budget ${p?.step}: ${budget(p)}${p?.why ? `. ${p.why}` : ""}`,
  "arm.blocked": (p) => p?.text ? `Cannot continue: ${p.text}` : "Can continue again",
  "arm.rules": (p) => `Harness: ${p?.text ?? ""}`,
  "arm.removed": () => "Removed",
  "arm.labels": (p) => `Labels: ${labels(p?.labels) || "none"}`,
  state: (p) => `${p?.from ? `${p.from} → ` : ""}${p?.reading?.state ?? "?"}`,
  screen_unrecognised: () => "Coleo does not recognize the screen",
  witness: (p) => p?.note || "A source of the arm's state has changed",
  conversation: (p) => `Conversation ${p?.text ?? ""}`,
  run_start: (p) => p?.compact ? "The conversation is being shortened" : `Prompt: ${p?.text ?? ""}`,
  run_end: (p) => p?.compact ? `Shortening the conversation has ended (${p?.outcome ?? "?"})` : `Answer: ${p?.answer || `(${p?.status ?? "none"})`}`,
  prompt_lost: () => "A prompt was lost",
  handover: (p) => (p?.step === "received" ? `Got the task of ${p.from?.name}` : p?.step === "failed" ? `Could not be handed over to ${p.to?.name}: ${p.why}` : p?.step === "done" ? `Handed over to ${p.to?.name}` : `Is being handed over to ${p?.to?.name}`),
  parked: (p) => (p?.step === "parked" ? `Parked at a ${p.kind} limit${p.wake ? ` until ${new Date(p.wake).toLocaleString()}` : ""}: ${p.text}` : p?.step === "tried" ? `Still parked: ${p.failed}` : p?.step === "changed" ? `Still parked${p.wake ? ` until ${new Date(p.wake).toLocaleString()}` : ""}; next: ${p.next || "nothing else"}` : `Not parked any more: ${p?.why ?? ""}`),
  on_limit: (p) => `At a limit: ${p?.from ?? "?"} → ${p?.to ?? "?"}`,
  queue: (p) => `Queue: ${p?.step ?? "changed"}, ${p?.length ?? 0} queued${p?.paused ? `; paused: ${p.paused}` : ""}${p?.held ? `; not sent: ${p.held}` : ""}`,
  approval: (p) => `${p?.decision?.choice ?? "Answered"}${p?.policy ? " by the policy" : ""}: ${p?.dialog?.subject || p?.dialog?.title || ""}`,
  policy: (p) => `Policy: ${p?.decision ?? "?"}${p?.applied ? ", answered" : ""} (${p?.rule ?? ""}; ${p?.why ?? ""}): ${p?.subject ?? ""}`,
  suspension: (p) => `Asks: ${p?.text ?? ""}`,
  suspension_answered: (p) => `${p?.decision ? `Answered${p.by ? ` by ${p.by}` : ""}` : "No longer asks"}: ${p?.text ?? ""}`,
  mode: (p) => `Mode: ${fromTo(p)}`,
  model: (p) => `Model: ${fromTo(p)}${p?.fallback?.reason ? ` (${p.fallback.reason})` : ""}`,
  compaction: (p) => p?.before_tokens ? `The conversation was shortened: ${p.before_tokens} → ${p.after_tokens ?? "?"} tokens` : "The conversation was shortened",
  error: (p) => `Error: ${p?.text ?? ""}${p?.retries ? " (the agent CLI tries again)" : ""}`,
  info: (p) => p?.text ?? "",
  input_validated: (p) => `The input ${fits(p)}`,
  output_validated: (p) => `The answer ${fits(p)}`,
  output_retry: (p) => `Asked again for an answer that fits: ${p?.error ?? ""}`,
  window: (p) => `Window: ${p?.window?.state ?? "?"}${p?.note ? ` (${p.note})` : ""}`,
  workspace_status_changed: (p) => `Worktree: ${workspace(p)}`,
  workspace_ready: (p) => `Worktree: ${workspace(p)}`,
  workspace_error: (p) => `Worktree: ${p?.text ?? ""}`,
  merge: (p) => `Merge ${p?.step ?? "?"}: ${p?.repo ? `${p.repo}: ` : ""}${p?.branch ?? "?"} into ${p?.into ?? "?"} (${p?.way ?? "?"})${p?.why ? `: ${p.why}` : ""}`,
};

function fromTo(p) {
  return `${p?.from ? `${p.from} → ` : ""}${p?.to ?? "?"}`;
}

function fits(p) {
  return p?.ok ? "fits its schema" : `does not fit its schema: ${p?.error ?? ""}`;
}

function workspace(p) {
  return [p?.status, p?.branch, p?.path, p?.kept, ...(p?.notes ?? [])].filter(Boolean).join(" ");
}

export class Activity {
  constructor(arm, store, trouble) {
    Object.assign(this, { arm, store, trouble });
    this.list = el("ol", { class: "log" });
    this.node = el("details", {}, el("summary", { text: "Activity" }), this.list);
    this.node.addEventListener("toggle", () => this.node.open && this.load());
    this.hear = (e) => this.node.open && e.detail.arm === this.arm.id && this.add(e.detail);
    store.addEventListener("log", this.hear);
  }

  /** Reads the log to its end, and shows the newest entries. */
  async load() {
    try {
      let events = [];
      for (let after = "", more = true; more; ) {
        const got = await call("GET", armPath(this.arm, `/events?limit=${page}&after=${encodeURIComponent(after)}`));
        events = events.concat(got.events).slice(-most);
        more = got.events.length > 0 && got.next !== after; // an empty page is the end of the log
        after = got.next;
      }
      this.list.replaceChildren();
      events.forEach((e) => this.add(e));
      if (!this.list.children.length) this.list.append(el("li", { class: "muted", text: "Nothing yet." }));
    } catch (e) {
      this.list.replaceChildren(el("li", { text: e.message }));
    }
  }

  add(event) {
    const word = words[event.kind];
    if (!word) return;
    this.list.querySelector(".muted")?.remove();
    this.list.prepend(el("li", {},
      el("time", { datetime: event.time, text: new Date(event.time).toLocaleTimeString() }),
      el("span", { text: word(event.payload).slice(0, 300) })));
    while (this.list.children.length > most) this.list.lastElementChild.remove();
  }

  close() {
    this.store.removeEventListener("log", this.hear);
  }
}
