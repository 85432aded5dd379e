// Package reading follows the output of a program, and says which state the program is in. A Reader
// keeps the program's screen. Each time that a picture is complete, the Reader applies the rules of
// package rules to it. The Reader then combines the verdict of the rules with the claims of the
// other witnesses: the program's escape sequences, its hook and its record.
//
// A Reader has no clock and starts no process. Its caller passes the time. The result of each call
// tells the caller when to look again if no output comes. So Replay reads a recording exactly as a
// session would have read the output.
//
// Some words have a fixed meaning here:
//
//   - To emit a change means to pass it to the function that the caller gave to New.
//   - A notice is an escape sequence.
//   - A report comes from the hook.
//   - A claim is a state that a witness asserts.
//
// The files, by subject:
//
//   - the state: reader, look, prompt, turn, unsettled
//   - dialogs: appear counts the appearances of a dialog; pages collects the options of
//     a long list; reflow recognizes a dialog that is drawn again; strange
//     holds dialogs that no rule knows; subjects completes a subject that the screen cuts off
//   - witnesses beside the screen: witness, inband, reports, record
//   - the rules of a pack: packs
//   - drawing a picture again: redraw
//   - continuing after a restart: snapshot
//   - reading without a process: recording
package reading
