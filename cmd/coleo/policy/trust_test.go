package policy

import (
	"strings"
	"testing"

	"coleo.dev/policy/files"
)

// A person reads a project's policy before trusting it, so hidden characters in the file must show.
func TestAHiddenCharacterOfAPolicyIsShown(t *testing.T) {
	t.Parallel()
	p := files.Project{Path: "/p", Content: "command = \"make \u200b\U000e0072test\"\n"}
	if text := describePolicy(p, "/p"); !strings.Contains(text, `command = "make ??test"`) {
		t.Errorf("a person reads %q", text)
	}
}
