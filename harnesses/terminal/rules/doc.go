// Package rules reads the description of an agent CLI with a screen, which is its harness.toml. It
// applies the description to a single picture.
//
// ParseSpec reads and checks a description, and returns a Spec. NewPicture prepares a screen and finds
// the composer on it. Spec.Read applies the dialogs and then the rules of the description to a Picture,
// and returns a Verdict.
//
// A Picture and a Verdict describe one moment. Package reading adds the knowledge from earlier
// pictures. Package rules uses no clock and no process. It looks at files only in Sign.Files, which
// searches for the root of a repository.
//
// The files, by subject:
//
//   - the description: spec, launch, hook, transcript, compile, base, setting
//   - the rules of a pack, which only read: readings
//   - conditions: region, match, colour
//   - pictures and the composer: picture, composer, shows, text
//   - dialogs: dialog, verdict, title, options
//   - how a dialog is answered: respond
//   - how several options of a dialog are ticked: several
//   - modes and models: mode
//   - the text of prompts and answers: prompt, answer
package rules
