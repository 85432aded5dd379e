// Package terminal drives agent CLIs that have a screen. All harnesses of such agent CLIs
// share it. A Harness starts an agent CLI under a holder, and finds it again after a
// restart. Each time it returns a session.
//
// Agent CLIs differ in data and in a little code. The data is a rules.Spec, read from
// harness.toml. The code is the few answers in Hooks that data cannot give. No rule in
// these packages is for one agent CLI. A comment that names an agent CLI says where a
// figure was measured.
//
// A session composes the packages below this one, which know nothing of each other's
// work:
//
//   - rules: what a description says, and what it says of one picture
//   - reading: pictures and witnesses over time become a state
//   - typing: prompts, answers and interrupts, typed only where they are meant
//   - launch: the command line, environment and files of a start
//   - past: snapshots on disk, and recordings of what was shown
//   - casttest: recordings for tests
//
// The files here by subject: harness; session and changes; live and view (the Reader
// behind its lock, as the read loop and as the Typist see it); output, rebuild, replies,
// hook, resize and pace (between session and holder); typing; answer, transcript and
// usage.
package terminal
