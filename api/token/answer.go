package token

import (
	"slices"

	"coleo.dev"
)

// Started returns the note of a new arm that a token starts, as long as the arm has no id.
// No id begins like this.
func Started(name string) string { return "=" + name }

// CheckAnswer returns EForbidden if a token must not answer a dialog of an arm, or switch its
// mode. No token does so for the arm in which it runs, for an ancestor or a descendant of that
// arm, or for an arm that it has prompted, or whose ancestor it has prompted. Otherwise a
// model could approve what it has asked for itself.
//
// The argument own has the arm in which the token runs, and then the ancestors of that arm.
// It is empty outside of arms. The argument target has the other arm in the same way, and name
// is its name. The argument prompted has the notes of the arms that the token has prompted.
func CheckAnswer(own, target []string, name string, prompted []string) error {
	contains := func(list []string) func(string) bool {
		return func(id string) bool { return slices.Contains(list, id) }
	}
	related := len(own) > 0 && (slices.Contains(own, target[0]) || slices.Contains(target, own[0]))
	switch {
	case related:
		return coleo.Errorf(coleo.EForbidden, "no operator token answers for the arm in which it runs, or for a parent or "+
			"child of that arm: a person answers for %s; nothing was done", name)
	case slices.ContainsFunc(target, contains(prompted)), slices.Contains(prompted, Started(name)):
		return coleo.Errorf(coleo.EForbidden, "no operator token answers for an arm that it has prompted or started, or for "+
			"a child of one: a person answers for %s; nothing was done", name)
	}
	return nil
}
