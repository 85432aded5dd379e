// Package reading turns what a program prints into states, over time. A Reader keeps
// the program's screen. Whenever a picture is complete, the Reader applies the rules of
// package rules to it. The Reader then combines the verdict of the rules with the other
// witnesses. These are escape sequences by which the program reports its state, and the
// reports of the program's hook.
//
// A Reader has no clock and starts no process. Its caller passes the time. The result
// of each call tells the caller when to look again if no output comes. So a recording
// is read exactly as a session would have read the output: see Replay.
//
// Some words have a fixed meaning here. To tell a change is to call the caller's
// function with that change. A notice is an escape sequence. A report comes from the
// hook. A claim is a state that a witness asserts.
//
// The files, by subject:
//
//   - the state: reader, look, prompt
//   - dialogs: appear counts the appearances of a dialog; subjects completes a subject
//     that the screen cuts off
//   - witnesses beside the screen: witness, inband, reports
//   - continuing after a restart: snapshot
//   - reading without a process: recording
package reading
