package arm

import (
	"strings"
	"testing"

	"coleo.dev"
)

func TestTheListIsInTheOrderOfNeed(t *testing.T) {
	t.Parallel()
	arms := []coleo.Arm{
		{Name: "arm-10", State: coleo.Idle, Status: coleo.StatusIdle, Harness: "a"},
		{Name: "arm-2", State: coleo.Idle, Status: coleo.StatusIdle, Harness: "b", TotalCost: 2},
		{Name: "gone", State: coleo.Dead, Status: coleo.StatusStopped, Harness: "a"},
		{Name: "busy", State: coleo.Processing, Status: coleo.StatusBusy, Harness: "c", TotalCost: 1},
		{Name: "asks", State: coleo.WaitingApproval, Status: coleo.StatusBusy, Harness: "a",
			Dialog: &coleo.Dialog{Title: "May I?"}},
	}
	for flags, want := range map[string]string{
		"":                           "asks busy arm-2 arm-10",
		"all":                        "asks busy arm-2 arm-10 gone",
		"sort=name":                  "arm-2 arm-10 asks busy",
		"sort=cost":                  "arm-2 busy arm-10 asks",
		"sort=harness":               "arm-10 asks arm-2 busy",
		"state=needs-you,processing": "asks busy",
		"state=ended":                "gone",
		"state=idle harness=b":       "arm-2",
	} {
		f := listFlags{sort: "need"}
		for _, word := range strings.Fields(flags) {
			name, value, _ := strings.Cut(word, "=")
			switch name {
			case "all":
				f.all = true
			case "sort":
				f.sort = value
			case "state":
				f.states = strings.Split(value, ",")
			case "harness":
				f.harnesses = strings.Split(value, ",")
			}
		}
		pick, err := f.picker()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, arm := range pick(arms) {
			got = append(got, arm.Name)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %q, want %q", flags, got, want)
		}
	}
	for _, f := range []listFlags{{sort: "size"}, {sort: "need", states: []string{"sleepy"}}} {
		if _, err := f.picker(); coleo.ErrorCode(err) != coleo.EInvalid {
			t.Errorf("%+v: %v, want invalid", f, err)
		}
	}
}
