// Package reading turns what a program prints into states, over time. A Reader keeps the
// program's screen. Whenever a picture is whole, it applies the rules of package rules to
// it. It then combines the verdict with the other witnesses: escape sequences by which
// the program reports its state, and the reports of its hook.
//
// A Reader has no clock and starts no process. Its caller passes the time, and learns
// from each call when to look again if no output comes. So a recording is read exactly as
// a session would have read it: see Replay.
//
// Some words have one meaning here. To tell is to call the caller's function with a
// change. A notice is an escape sequence, and a report comes from the hook. A claim is a
// state that a witness asserts.
//
// The files by subject:
//
//   - the state: reader, look, prompt
//   - dialogs: appear counts the appearances of a dialog; subjects completes what the
//     screen cuts off
//   - witnesses beside the screen: witness, inband, reports
//   - continuing later: snapshot
//   - without a process: recording
package reading
