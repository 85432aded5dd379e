// Package terminal drives agent CLIs that have a screen. All harnesses for these agent CLIs share this
// package. A Harness starts an agent CLI under a holder, and returns a session. After a restart of the host
// agent, the Harness finds the agent CLI again, and returns a new session.
//
// Agent CLIs differ in data and in a few pieces of code. The data is a rules.Spec, the description in
// harness.toml. The code is in Hooks, for the few questions that data cannot answer. No rule in these
// packages is for one particular agent CLI. A comment names an agent CLI only if a figure or a behavior was
// measured with that agent CLI.
//
// A session connects the packages in the folders below this one. Each of these packages has one task:
//
//   - rules: what a description contains, and what its rules say about one picture of the screen
//   - reading: follows the pictures over time, and derives the state from them and from other sources, such
//     as the hook
//   - typing: types prompts, answers and interrupts, each only into the screen for which it is meant
//   - launch: the command line, the environment and the files of a start
//   - past: snapshots on disk, and recordings of earlier screens
//
// Package casttest contains recordings for tests.
//
// These are the files of this package, by subject:
//
//   - harness; session and changes
//   - live and view: the Reader behind its lock, for the read loop and for the Typist
//   - output, rebuild, replies, resize, redraw and pace: between session and holder
//   - hook and record: the reports of the agent CLI
//   - steer: prompts, answers and interrupts
//   - answer, transcript and usage
package terminal
