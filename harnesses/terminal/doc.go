// Package terminal drives agent CLIs that have a screen. All harnesses for such agent
// CLIs share this package. A Harness starts an agent CLI under a holder. After a
// restart of the host agent, it finds the agent CLI again. In both cases it returns a
// session.
//
// Agent CLIs differ in data and in a few pieces of code. The data is a rules.Spec, read
// from harness.toml. The code is in Hooks: the few answers that data cannot give. No
// rule in these packages is for one particular agent CLI. A comment that names an agent
// CLI tells where a figure was measured.
//
// A session connects the packages below this one. These packages know nothing about
// each other's work:
//
//   - rules: what a description contains, and what it means for one picture
//   - reading: pictures and witnesses over time become a state
//   - typing: prompts, answers and interrupts, typed only into the screen for which
//     they are meant
//   - launch: the command line, the environment and the files of a start
//   - past: snapshots on disk, and recordings of what was shown
//   - casttest: recordings for tests
//
// The files here, by subject: harness; session and changes; live and view (the Reader
// behind its lock, for the read loop and for the Typist); output, rebuild, replies,
// resize and pace (between session and holder); hook and record (what the agent CLI
// reports); typing; answer, transcript and usage.
package terminal
