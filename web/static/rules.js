// Decides which buttons an arm has, and how its state is named. This module does not use the page or the
// network.

/** The words that people read for each state of an agent CLI. */
const words = {
  initializing: "Starting",
  idle: "Idle",
  processing: "Working",
  executing: "Running a tool",
  waiting_approval: "Needs you",
  error: "Error",
  dead: "Stopped",
};

/** Returns how the page shows an arm: a word, and a tone that style.css knows. */
export function display(arm) {
  if (arm.status === "stopped" || arm.state === "dead") return { word: "Stopped", tone: "off" };
  if (arm.state === "waiting_approval" || arm.suspensions?.length) return { word: words.waiting_approval, tone: "ask" };
  const health = arm.runtime?.state;
  if (health === "hung") return { word: "Hung", tone: "bad" };
  if (health === "blocked") return { word: "Blocked", tone: "bad" };
  if (health === "recoverable" || health === "unknown") return { word: arm.state === "error" ? "Error" : "Lost", tone: "bad" };
  if (arm.state === "error") return { word: words.error, tone: "bad" };
  if (arm.status === "starting" || arm.state === "initializing") return { word: words.initializing, tone: "work" };
  if (working(arm)) return { word: words[arm.state], tone: "work" };
  if (arm.status === "paused") return { word: "Paused", tone: "idle" };
  return { word: words[arm.state] ?? arm.state ?? "Unknown", tone: "idle" };
}

/** The groups of the list, most important first. */
export const groups = [
  { title: "Needs you", tones: ["ask", "bad"] },
  { title: "Working", tones: ["work"] },
  { title: "Idle", tones: ["idle"] },
  { title: "Stopped", tones: ["off"] },
];

/** Reports whether a turn of the agent CLI is running. */
export function working(arm) {
  return arm.state === "processing" || arm.state === "executing";
}

/**
 * Describes the button that recovers an arm. Its label is "Restart" if the arm is stopped or
 * recoverable, and "Recover" otherwise.
 */
export function recovery(arm) {
  const { canRecover, state } = arm.runtime ?? {};
  const label = state === "hung" || !["recoverable", "stopped"].includes(state) ? "Recover" : "Restart";
  if (!canRecover) return { label, can: false, why: "Coleo does not know enough to recover this arm." };
  if (!["hung", "recoverable", "stopped"].includes(state)) return { label, can: false, why: `The arm is ${state ?? "unknown"}, so there is nothing to recover.` };
  return { label, can: true, why: state === "hung" ? "Check that the arm is alive, or start it again" : "Bring the arm back with its conversation" };
}

/** Describes the button that starts an arm. The arm must be stopped, in error, or starting without a runtime. */
export function spawning(arm) {
  const can = arm.status === "stopped" || arm.status === "error" || (arm.status === "starting" && !arm.runtime?.hasRuntime);
  return { can, why: can ? "Start the arm with a new conversation" : "The arm is already running." };
}

/** Describes the button that ends an arm. Any arm with a process can be killed. */
export function killing(arm) {
  const can = arm.status !== "stopped";
  return { can, why: can ? "End the agent CLI and all processes that it has started" : "The arm is stopped." };
}

/** Describes the button that stops the running turn. */
export function interrupting(arm, capabilities) {
  if (capabilities && !capabilities.interrupt) return { can: false, why: "This harness cannot interrupt a turn." };
  if (!working(arm)) return { can: false, why: "No turn is running." };
  return { can: true, why: "Stop the running turn" };
}

/** Describes the button that shortens the conversation. The harness must support this, and the arm must be idle. */
export function compacting(arm, capabilities) {
  if (capabilities && !capabilities.compact) return { can: false, why: "This harness cannot shorten its conversation." };
  if (arm.status === "stopped" || arm.state !== "idle") return { can: false, why: "The conversation can be shortened only while the arm is idle." };
  return { can: true, why: "Make the agent CLI shorten its conversation" };
}

/**
 * Reports whether a prompt can be sent now, and if not, why. If the parameter interrupt is true, the prompt
 * may interrupt a running turn.
 */
export function prompting(arm, capabilities, interrupt) {
  if (arm.status === "stopped" || arm.state === "dead") return { can: false, why: "The arm is stopped. Start it to send a prompt." };
  switch (arm.state) {
    case "waiting_approval":
      return { can: false, why: "The arm waits for an answer. Answer the dialog first, because a prompt that is typed now could approve it." };
    case "initializing":
      return { can: false, why: "The arm is still starting." };
    case "processing":
    case "executing":
      if (interrupt) return { can: true, why: "" };
      if (capabilities?.queue) return { can: true, why: "The arm is working. Your prompt waits until the running turn has ended." };
      return { can: false, why: "The arm is working, and this harness cannot queue a prompt. To send the prompt now, interrupt the turn." };
    case "idle":
    case "error":
      return { can: true, why: "" };
  }
  return { can: false, why: "The state of the arm is not known." };
}
