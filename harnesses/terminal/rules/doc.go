// Package rules holds what Coleo knows about one agent CLI with a screen: its description in
// harness.toml. It also applies that description to a single picture.
//
// ParseSpec reads and checks a description and returns a Spec. NewPicture prepares a screen and
// finds the composer on it. Spec.Read applies the dialogs and then the rules of the description to
// a Picture, and returns a Verdict.
//
// Everything here is pure: it uses no clock, no process and no file. A Picture and a Verdict
// describe one moment. Package reading adds what earlier pictures showed.
//
// The files, by subject:
//
//   - the description: spec, launch, hook, transcript, compile, base
//   - the rules of a pack, which only read: readings
//   - conditions: region, match, colour
//   - pictures and the composer: picture, composer, shows, echo, text
//   - dialogs: dialog, verdict, title, options
//   - how a dialog is answered: respond, styles
//   - how several options of a dialog are ticked: several
//   - what is typed, and what was answered: prompt, answer
package rules
