// Package rules holds what Coleo knows of one agent CLI with a screen: its description,
// harness.toml. It also holds what that description says of a single picture.
//
// ParseSpec reads and checks a description and returns a Spec. NewPicture prepares a
// screen and finds the composer on it. Spec.Read applies the dialogs and then the rules
// of the description to a Picture, and returns a Verdict.
//
// Everything here is pure: no clock, no process, no file. A Picture and a Verdict belong
// to one moment. What earlier moments add is the job of package reading.
//
// The files by subject:
//
//   - the description: spec, launch, hook, transcript, compile, base
//   - conditions: region, match, needs, memo, colour
//   - pictures and the composer: picture, composer, shows, echo, text
//   - dialogs: verdict, title, wrapped, background, subject, respond
//   - what is typed, and what was answered: prompt, keys, answer
package rules
