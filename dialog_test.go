package coleo

import "testing"

func TestWhatStandsInTheWayIsNamed(t *testing.T) {
	t.Parallel()
	for want, d := range map[string]*Dialog{
		`a permission dialog waits for an answer: "Run it?" (touch it); approve or deny it first`: {
			Kind: DialogPermission, Title: "Run it?", Subject: "touch\n  it"},
		`a trust dialog waits for an answer: "Which servers?"; answer or deny it first`: {
			Kind: DialogTrust, Title: "Which servers?", Options: []string{"One", "Two"}, Several: true},
		`an update dialog waits for an answer: "Update?"; answer it first`: {
			Kind: DialogUpdate, Title: "Update?", Options: []string{"Skip"}},
		`a question dialog waits for an answer: "Which color?"; answer it first`: {
			Kind: DialogQuestion, Title: "Which color?", Options: []string{"Red", "Blue"}},
		`a dialog waits for an answer: "Theme:"; answer, approve or deny it first`: {Kind: DialogOther, Title: "Theme:"},
		`a dialog waits for an answer: answer, approve or deny it first`:           nil,
	} {
		if got := Blocked(d).Message; got != want {
			t.Errorf("it is named %q, want %q", got, want)
		}
	}
}
