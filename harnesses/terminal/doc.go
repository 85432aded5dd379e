// Package terminal is what all harnesses of agent CLIs with a screen share:
// how one is started, how its screen is read as a state, how text reaches its
// composer and nothing else, how its dialogs are answered, how it is
// interrupted and found again.
//
// What differs between agent CLIs is data, a Spec read from harness.toml, and
// the few answers in Hooks that data cannot give. No rule here is for one agent CLI;
// where one is named, it is where a figure was seen.
//
// Where to look:
//
//   - the description: spec, compile, base, reload; its launch: launch, join,
//     hookspec, trust
//   - a live session: harness, session, resize, changes, pace
//   - reading: reader, look, frame, verdict, appear, title, wrapped, side, mark,
//     hue, memo, needs, subject; other witnesses than the screen: voice, inband,
//     listen, reports
//   - typing: astext, deliver and keys; holds says what the composer shows, submit presses
//     the key and says what proves that a prompt was taken, again presses it once more,
//     overtake, echo and prove look for what was not seen; respond
//     answers dialogs, interrupt stops a turn
//   - answers and usage: answer, transcript, transcript_rule, usage
//   - across restarts: keeper, snapshots, rebuild, owed; the past: archive
//   - recordings without a process: recording, replay
package terminal
