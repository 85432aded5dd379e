package conformance

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"coleo.dev"
	"coleo.dev/conformance/modelserver"
	"coleo.dev/waitfor"
)

// SettingReport is the outcome of the checks that ran with one of the user's settings.
type SettingReport struct {
	coleo.Setting
	Compatible bool     `json:"compatible"` // no check failed
	Results    []Result `json:"results"`
}

// SettingsReport is the outcome of the checks with several settings, one after another.
type SettingsReport struct {
	Harness    string          `json:"harness"`
	AgentCLI   string          `json:"agent_cli,omitempty"` // as in Report
	Compatible bool            `json:"compatible"`          // no check failed
	Isolated   bool            `json:"isolated"`
	Settings   []SettingReport `json:"settings"`
}

// settingChecks lists the checks that are run with each setting. They show whether Coleo can read
// the screen and type while the agent CLI has this setting.
var settingChecks = []string{"spawn_and_idle", "simple_prompt", "idle_after_the_answer", "file_creation",
	"approval_deny", "interrupt"}

// settingTimeout is the time limit of each of these checks. The longest check takes 20 s, and
// several times as long on a loaded machine.
const settingTimeout = 90 * time.Second

// SettingChecks returns the checks that are run with each setting that the harness
// accepts. These checks share one session.
func SettingChecks() []Check {
	var out []Check
	for _, name := range settingChecks {
		i := slices.IndexFunc(Checks(), func(c Check) bool { return c.Name == name })
		check := Checks()[i]
		check.Shared, check.Required, check.Timeout = true, true, settingTimeout
		// If the first check fails, the session has not become idle, which all other checks need.
		check.Stops = name == settingChecks[0]
		out = append(out, check)
	}
	return out
}

// refusalOf returns the only check for a setting that the harness refuses. The check
// passes if the start fails with the reason in s.Refused.
func refusalOf(s coleo.Setting) Check {
	return Check{Name: "spawn_refused", Doc: "the start is refused, and the error says why", Required: true,
		Timeout: time.Minute, NoModel: true, Run: func(ctx context.Context, t *Trial) error {
			err := t.spawn(ctx, nil)
			if coleo.ErrorCode(err) == coleo.ENotInstalled {
				return err
			}
			if coleo.ErrorCode(err) != coleo.EUnsupported || !strings.Contains(err.Error(), s.Refused) {
				return fmt.Errorf("the start got %v, want %s with %q", err, coleo.EUnsupported, s.Refused)
			}
			t.details = "refused: " + s.Refused
			return nil
		}}
}

// pausingPrompts are prompts for answers with pauses. The first answer has a pause
// before its text, and the second one has pauses inside its text.
var pausingPrompts = []string{"pause 2s", "count to 2 every 6s"}

// idleAfterTheAnswer makes the model send answers with pauses. Coleo must not report idle before
// the end of the answer, even though the screen may not change during a pause.
func idleAfterTheAnswer(ctx context.Context, t *Trial) error {
	if err := t.spawnIdle(ctx, nil); err != nil {
		return err
	}
	for _, prompt := range pausingPrompts {
		prompt += " then say " + Nonce()
		receipt, err := t.Session.SendPrompt(ctx, coleo.Prompt{Text: prompt})
		if err != nil {
			return err
		}
		isAnswered := func(q modelserver.Request) bool { return q.Prompt == prompt && q.Side == "" && q.Done }
		if _, err := t.Model.Wait(ctx, isAnswered); err != nil {
			return fmt.Errorf("wait for the end of the answer to %q: %w", prompt, err)
		}
		if _, err := waitfor.Turn(ctx, t.Session, receipt); err != nil {
			return err
		}
		if early, at := t.idleBefore(receipt, t.lastByte(prompt)); early {
			return fmt.Errorf("it was read as idle %d ms before the model had answered %q",
				t.lastByte(prompt).Sub(at).Milliseconds(), prompt)
		}
	}
	t.details = fmt.Sprintf("idle only after the answer, in %d turns", len(pausingPrompts))
	return nil
}

// lastByte returns the time at which the model sent the last byte of its answer to the
// prompt.
func (t *Trial) lastByte(prompt string) (last time.Time) {
	for _, q := range t.Model.Record() {
		if q.Side == "" && q.Prompt == prompt && q.Last.After(last) {
			last = q.Last
		}
	}
	return last
}

// idleBefore looks for the first change to idle or error after the receipt. If that change came before `end`,
// idleBefore returns true and the time of the change.
func (t *Trial) idleBefore(r coleo.Receipt, end time.Time) (bool, time.Time) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // with an ended ctx, Changes yields only past changes and does not wait
	for c := range t.Session.Changes(ctx, r.Cursor) {
		over := c.Reading.State == coleo.Idle || c.Reading.State == coleo.Failed
		if c.Kind == coleo.ChangeState && over && c.Time.Before(end) {
			return true, c.Time
		}
	}
	return false, time.Time{}
}

// PickSettings returns the settings of h that the user has selected. `names` is "all", or the names of settings
// separated by commas. PickSettings returns EInvalid if h has no settings, or if one of the names is unknown.
func PickSettings(h coleo.Harness, names string) ([]coleo.Setting, error) {
	settable, ok := h.(coleo.Settable)
	if !ok || len(settable.Settings()) == 0 {
		return nil, coleo.Errorf(coleo.EInvalid, "%s has no settings to test: its description has no [[setting]]",
			h.Info().Name)
	}
	known := settable.Settings()
	if names == "all" {
		return known, nil
	}
	var out []coleo.Setting
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(known, func(s coleo.Setting) bool { return s.Name == strings.TrimSpace(name) })
		if i < 0 {
			return nil, coleo.Errorf(coleo.EInvalid, "%s has no setting %q", h.Info().Name, strings.TrimSpace(name))
		}
		out = append(out, known[i])
	}
	return out, nil
}

// RunSettings runs the checks with each setting, one setting after another. It returns EInvalid if
// the harness has no settings. It also returns the errors of Run, with the setting's name. A failed
// check is not an error, because the report contains the failure.
func RunSettings(ctx context.Context, h coleo.Harness, c Config, list []coleo.Setting) (SettingsReport, error) {
	report := SettingsReport{Harness: h.Info().Name, Compatible: true, Isolated: c.Isolated}
	settable, ok := h.(coleo.Settable)
	if !ok {
		return report, coleo.Errorf(coleo.EInvalid, "the harness %s has no settings", h.Info().Name)
	}
	for _, setting := range list {
		changed, err := settable.WithSetting(setting.Name)
		if err != nil {
			return report, err
		}
		checks := SettingChecks()
		if setting.Refused != "" {
			checks = []Check{refusalOf(setting)}
		}
		c.log("Setting %s...", setting.Name)
		one := c
		one.Prefix = setting.Name + "-"
		result, err := Run(ctx, changed, one, checks)
		if err != nil {
			return report, fmt.Errorf("setting %s: %w", setting.Name, err)
		}
		report.Settings = append(report.Settings,
			SettingReport{Setting: setting, Compatible: result.Compatible, Results: result.Results})
		report.Compatible = report.Compatible && result.Compatible
	}
	return report, nil
}
