package template

import (
	"strings"
	"testing"

	"coleo.dev/template"
)

// The prompt of a project's template goes to a model, which reads characters that a person does not see. A person
// must see them before trusting the template.
func TestAHiddenCharacterOfATemplateIsShown(t *testing.T) {
	t.Parallel()
	f := template.Found{Path: "/t", Project: true, Content: "prompt = \"fix it\U000e0072\U000e006d\ufe01\"\n"}
	if text := describeTemplate(f); !strings.Contains(text, `prompt = "fix it???"`) {
		t.Errorf("a person reads %q", text)
	}
}
