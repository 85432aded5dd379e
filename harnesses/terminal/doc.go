// Package terminal drives agent CLIs that have a screen. All harnesses of such agent CLIs
// share it. It starts an agent CLI, reads its screen as a state, and types text into its
// composer and nowhere else. It answers dialogs, interrupts turns, and finds a session
// again after a restart.
//
// Agent CLIs differ in data and in a little code. The data is a Spec, read from
// harness.toml. The code is the few answers in Hooks that data cannot give. No rule in
// this package is for one agent CLI. A comment that names an agent CLI says where a
// figure was measured.
//
// The files by subject:
//
//   - the description of an agent CLI: spec, compile, base, reload
//   - its launch: launch, join, hookspec, trust
//   - a live session: harness, session, resize, changes, pace
//   - reading the screen: reader, look, frame, verdict, appear, title, wrapped, side,
//     mark, hue, memo, needs, subject
//   - evidence other than the screen: voice, inband, listen, reports
//   - typing: astext, deliver, keys
//   - submitting a prompt: holds reads what the composer shows; submit presses the key
//     and collects the proof that the prompt was taken; again presses the key once more;
//     overtake, echo and prove look for evidence that was missed
//   - dialogs and turns: respond answers dialogs, interrupt stops a turn
//   - answers and usage: answer, transcript, transcript_rule, usage
//   - restarts: keeper, snapshots, rebuild, owed
//   - the past: archive
//   - recordings without a process: recording, replay
package terminal
