package conformance

import (
	"context"
	"strings"
	"testing"

	"coleo.dev"
)

// withSettings contains three settings of the fake agent CLI. The first one works, and the harness refuses the
// second. The harness should refuse the third one too, but does not recognize it.
const withSettings = `[[setting]]
name = "slow"
doc = "It starts late."
args = ["--start", "pause 200ms"]
[[setting]]
name = "grim"
doc = "It is refused."
args = ["--start", "pause 201ms"]
refused = "Coleo cannot read grim screens."
[[setting.seen]]
arg = '(?m)^pause 201ms$'
[[setting]]
name = "unseen"
doc = "It should be refused."
args = ["--start", "pause 202ms"]
refused = "Coleo cannot read this."
[[setting.seen]]
arg = '(?m)^--grim$'

[[rule]]
name = "working"`

func settingsOf(t *testing.T, names string, edits ...string) SettingsReport {
	t.Helper()
	h := fakeHarness(t, append([]string{"[[rule]]\nname = \"working\"", withSettings}, edits...)...).(accounting).Harness
	list, err := PickSettings(h, names)
	if err != nil {
		t.Fatal(err)
	}
	report, err := RunSettings(t.Context(), h, fakeConfig(t), list)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func TestASettingThatWorksPassesEachCheck(t *testing.T) {
	t.Parallel()
	report := settingsOf(t, "slow")
	if len(report.Settings) != 1 || !report.Compatible || len(report.Settings[0].Results) != len(SettingChecks()) {
		t.Errorf("the report is %+v", report)
	}
}

func TestARefusedSettingMustBeRefused(t *testing.T) {
	t.Parallel()
	report := settingsOf(t, "grim, unseen")
	if s := report.Settings[0]; !s.Compatible || len(s.Results) != 1 ||
		!strings.Contains(s.Results[0].Details, "cannot read grim") {
		t.Errorf("a setting that is refused: %+v", s)
	}
	if s := report.Settings[1]; s.Compatible || report.Compatible {
		t.Errorf("a setting that should be refused, and is not: %+v", s)
	}
}

// A harness that reads a prompt line as idle reports idle in the pauses of an answer. The checks
// must find this fault.
func TestIdleInAPauseOfAnAnswerIsFound(t *testing.T) {
	t.Parallel()
	rule := "[[rule]]\nname = \"working\""
	report := settingsOf(t, "slow", rule, idleBefore+rule)
	for _, r := range report.Settings[0].Results {
		if r.Name == "idle_after_the_answer" {
			if r.Pass || !strings.Contains(r.Details, "idle") {
				t.Errorf("idle in a pause is not found: %+v", r)
			}
			return
		}
	}
	t.Errorf("the check did not run: %+v", report.Settings[0])
}

// The session never becomes idle, so each check would fail only after its whole time limit. The run must stop
// at the first of these failures.
func TestASettingThatNeverStartsIsLeftAtOnce(t *testing.T) {
	t.Parallel()
	ran := 0
	check := func(fails bool) Check {
		return Check{Name: "x", Shared: true, Timeout: hangs, NoModel: true, Stops: true,
			Run: func(context.Context, *Trial) error {
				if ran++; fails {
					return coleo.Errorf(coleo.ETimeout, "it never became idle")
				}
				return nil
			}}
	}
	if _, err := Run(t.Context(), fakeHarness(t), fakeConfig(t), []Check{check(false), check(true),
		check(false)}); err != nil {
		t.Fatal(err)
	}
	if ran != 2 {
		t.Errorf("%d checks ran, want 2", ran)
	}
}

func TestSettingsAreNamed(t *testing.T) {
	t.Parallel()
	h := fakeHarness(t, "[[rule]]\nname = \"working\"", withSettings).(accounting).Harness
	if all, err := PickSettings(h, "all"); err != nil || len(all) != 3 {
		t.Errorf("all = %v, %v", all, err)
	}
	if _, err := PickSettings(h, "slow,fast"); coleo.ErrorCode(err) != coleo.EInvalid {
		t.Errorf("an unknown setting: %v", err)
	}
	if _, err := PickSettings(fakeHarness(t), "all"); coleo.ErrorCode(err) != coleo.EInvalid {
		t.Errorf("a harness without settings: %v", err)
	}
}
