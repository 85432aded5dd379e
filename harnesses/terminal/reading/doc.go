// Package reading follows the output of a program, and determines the program's state. A Reader keeps the
// program's screen. Each time a picture on the screen is complete, the Reader applies the rules of package
// rules to it. The result is the screen's verdict. The other sources are the program's escape sequences,
// its hook and its record. Each of them is a witness, and a state that it asserts is a claim. The Reader
// combines the verdict and the claims into a reading.
//
// A Reader has no clock and starts no process. Its caller passes the time to each method. Methods such as
// Look return how long to wait for output before the next look. Therefore Replay reads a recording exactly as
// a session would have read the output.
//
// Some more words have a fixed meaning here:
//
//   - To look at the screen is to apply the rules to the present picture.
//   - To emit a change is to pass it to the function that the caller gave to New.
//   - A notice is an escape sequence.
//   - A report comes from the hook.
//   - A claim lapses, which means that it no longer counts, if the screen contradicts it for long enough.
//   - A state settles while it lasts, until it has lasted long enough to count.
//
// The files, by subject:
//
//   - the state: reader, look, prompt, turn, unsettled
//   - the end of an agent CLI's start: ready
//   - appearances of a dialog: appear
//   - long lists of options: pages
//   - dialogs that are drawn again: reflow
//   - dialogs that no rule knows: strange
//   - subjects that the screen cuts off: subjects
//   - witnesses beside the screen: witness, inband, reports, record
//   - the rules of a pack: packs
//   - drawing a picture again: redraw
//   - continuing after a restart: snapshot
//   - reading without a process: recording
package reading
