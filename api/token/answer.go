package token

import (
	"slices"

	"coleo.dev"
)

// StartedNote returns a note for an arm that is being started by a caller with a token. Coleo stores the note in
// place of the arm's id until the arm has an id. No id begins like such a note.
func StartedNote(name string) string { return "=" + name }

// CheckAnswer returns EForbidden if a token must not answer a dialog of an arm or switch the arm's mode. The token
// must not do so for these arms:
//   - the arm in which the token runs, and the ancestors and descendants of that arm;
//   - the arms that the token has prompted, and the descendants of those arms.
//
// Two more arms count as descendants of an arm: its successor after a hand-over, and an arm that has a copy of the
// conversation.
//
// Otherwise a model could approve its own requests.
//
// The parameters are:
//   - ownLine: the arm in which the token runs, followed by the ancestors of that arm; empty if the token runs
//     outside of arms;
//   - targetLine: the arm of the dialog, followed by the ancestors of that arm;
//   - targetName: the name of the arm of the dialog;
//   - promptedNotes: the ids of the arms that the token has prompted, and the StartedNote of each arm that the
//     token is starting.
func CheckAnswer(ownLine, targetLine []string, targetName string, promptedNotes []string) error {
	contains := func(list []string) func(string) bool {
		return func(id string) bool { return slices.Contains(list, id) }
	}
	related := len(ownLine) > 0 && (slices.Contains(ownLine, targetLine[0]) || slices.Contains(targetLine, ownLine[0]))
	switch {
	case related:
		return coleo.Errorf(coleo.EForbidden, "no operator token answers for the arm in which it runs, or for a parent or "+
			"child of that arm: a person answers for %s; nothing was done", targetName)
	case slices.ContainsFunc(targetLine, contains(promptedNotes)), slices.Contains(promptedNotes, StartedNote(targetName)):
		return coleo.Errorf(coleo.EForbidden, "no operator token answers for an arm that it has prompted or started, or for "+
			"a child of one: a person answers for %s; nothing was done", targetName)
	}
	return nil
}
