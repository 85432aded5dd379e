package arm

import (
	"bufio"
	"strings"
	"testing"

	"coleo.dev"
)

func TestAHarnessIsChosenByNumberOrName(t *testing.T) {
	t.Parallel()
	list := []coleo.Info{{Name: "one"}, {Name: "declared", Support: coleo.SupportDeclared}, {Name: "two"}}
	ask := func(typed string) questions {
		return questions{bufio.NewReader(strings.NewReader(typed)), new(strings.Builder),
			func(i coleo.Info) bool { return i.Name == "two" }}
	}
	for typed, want := range map[string]string{
		"\n": "two", "1\n": "one", "2\n": "two", "one\n": "one", "3\n0\nnone\ndeclared\none\n": "one",
	} {
		if got, err := ask(typed).harness(list, ""); err != nil || got != want {
			t.Errorf("%q chooses %q (%v), want %q", typed, got, err, want)
		}
	}
	if _, err := ask("nonsense\n").harness(list, ""); coleo.ErrorCode(err) != coleo.EInvalid {
		t.Errorf("the end of the input returns %v, want EInvalid", err)
	}
}
