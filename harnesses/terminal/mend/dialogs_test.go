package mend

import (
	"reflect"
	"testing"

	"coleo.dev/harnesses/terminal/rules"
)

// A proposed dialog is a copy of another dialog. If it copied the keys that answer the other dialog,
// Coleo could answer the new dialog in a wrong way.
func TestANewDialogCopiesNoKeyForAnswers(t *testing.T) {
	t.Parallel()
	copied := map[string]string{
		"select": "each dialog needs it",
		"bottom": "it finds the dialog's last row", "more": "it finds options that are out of sight",
		"tail": "it is no part of a label", "tail_when": "it belongs to tail",
		"changed": "it finds the changed rows of a diff",
	}
	reads := map[string]bool{}
	for field := range reflect.TypeFor[rules.ReadDialog]().Fields() {
		reads[field.Tag.Get("toml")] = true
	}
	for field := range reflect.TypeFor[rules.DialogRule]().Fields() {
		key := field.Tag.Get("toml")
		if key == "" || reads[key] {
			continue
		}
		if left := answerKeys.MatchString(key + " = \"x\"\n"); left == (copied[key] != "") {
			t.Errorf("a new dialog leaves out %s: %v, want %v", key, left, !left)
		}
	}
}
