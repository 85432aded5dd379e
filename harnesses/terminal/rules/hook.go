package rules

import (
	"fmt"
	"regexp"
	"slices"

	"coleo.dev"
	"coleo.dev/hook"
)

// Hook describes what an agent CLI reports to a hook, and what each report proves. Where
// there is a hook, the parts of Launch pass it on by argv or environment, never in a file
// of the user's.
type Hook struct {
	// The key of the report that names the event: `hook_event_name`. It is required if
	// there is a report.
	Event string `toml:"event"`
	// The key of the id of a turn, if prompts may wait for their turn: `prompt_id`.
	Turn string `toml:"turn"`
	// What the agent CLI puts around a prompt's text, such as `</?pasted>`. It is removed
	// before the text is compared.
	Strip patternText `toml:"strip"`
	// The user's file that may already name a hook. Use this table for an agent CLI that
	// takes only one hook. If the file names a hook, the user's hook stays. Without `key` the
	// agent CLI then gets no hook from Coleo.
	UserHook UserHook `toml:"unless"`
	// What one event of the agent CLI proves. Of several reports for one event, the first
	// whose `when` holds counts. `.Hook.Events` in a part lists the events that have a report.
	Reports []Report `toml:"report"`

	strip *regexp.Regexp
}

// UserHook describes a file of the user's that may already name a hook. It is for an agent
// CLI that takes one hook alone: the user's hook stays. With a Key Coleo's hook is given
// all the same and starts the user's hook afterwards, if that key can be read.
type UserHook struct {
	// The environment variable that names the folder of the file. It comes before `folder`.
	FolderEnv string `toml:"folder_env"`
	// The folder of the file below HOME, such as `.mine`.
	Folder string `toml:"folder"`
	// The name of the file in that folder, such as `config.toml`.
	File string `toml:"file"`
	// What the file's text shows if it names a hook: `(?m)^notify`.
	Pattern patternText `toml:"pattern"`
	// The key of the user's hook in the file, if the file is TOML and the value is a command
	// line as a list. The agent CLI then gets Coleo's hook, which starts the user's hook with
	// the same report.
	Key string `toml:"key"`

	pattern *regexp.Regexp
}

// Report is what one event proves. Of several reports for one event, the first whose When
// conditions all hold counts.
type Report struct {
	// The name of the event, such as `PreToolUse`. The key is required.
	Event string `toml:"event"`
	// Other keys of the report and the values that they must have:
	// `{ notification_type = "permission_prompt" }`.
	When map[string]string `toml:"when"`
	// The state that the event claims: `processing`, `executing` or `waiting_approval`.
	// Without it the earlier claim is over.
	State string `toml:"state"`
	// The key of the text of the prompt that the agent CLI took. It proves that the prompt
	// arrived.
	Prompt string `toml:"prompt"`
	// The key of a list of prompts. The last one is that of the turn.
	Prompts string `toml:"prompts"`
	// The key of the text of the answer. The event then ends the turn.
	Answer string `toml:"answer"`
	// The key of the name of the tool that is about to run.
	Tool string `toml:"tool"`
	// The key of the input of that tool. Coleo completes a subject with it that the screen
	// cuts off.
	Input string `toml:"input"`
	// The key of a text for people, such as the reason of an error. It is shown with the
	// state.
	Detail string `toml:"detail"`
}

// claimable are the states that a hook may claim. None of them releases an arm.
var claimable = []coleo.State{coleo.Processing, coleo.Executing, coleo.WaitingApproval}

func (c *compiler) hook(h *Hook) {
	if len(h.Reports) > 0 && h.Event == "" {
		c.fail("hook.event", "hook.event is missing: which key of a report names its event?")
	}
	h.strip = c.regexp("hook.strip", h.Strip)
	h.UserHook.pattern = c.regexp("hook.unless.pattern", h.UserHook.Pattern)
	for i, r := range h.Reports {
		path := fmt.Sprintf("hook.report[%d]", i)
		if r.Event == "" {
			c.fail(path, "a report needs an event")
		}
		if r.State != "" && !slices.Contains(claimable, coleo.State(r.State)) {
			c.fail(path+".state", "report %q: a hook may claim %v, not %q", r.Event, claimable, r.State)
		}
	}
}

// In reports whether a text of the user's file names a hook.
func (u *UserHook) In(text []byte) bool { return u.pattern != nil && u.pattern.Match(text) }

// Bare returns a prompt without blanks and without what the agent CLI puts around it.
func (h *Hook) Bare(prompt string) string {
	if h.strip != nil {
		prompt = h.strip.ReplaceAllString(prompt, "")
	}
	return squeeze(prompt)
}

// ReportsTools reports whether the hook reports tools before their dialogs are drawn.
func (h *Hook) ReportsTools() bool {
	return slices.ContainsFunc(h.Reports, func(r Report) bool {
		return r.Tool != "" && r.State == string(coleo.Executing)
	})
}

// Events returns the events that have a report, each once.
func (h *Hook) Events() []string {
	var out []string
	for _, r := range h.Reports {
		if !slices.Contains(out, r.Event) {
			out = append(out, r.Event)
		}
	}
	return out
}

// Find returns the report that a line stands for, or nil when there is none.
func (h *Hook) Find(l hook.Line) *Report {
	event := l.Text(h.Event)
	for i, r := range h.Reports {
		if r.Event == event && r.holds(l) {
			return &h.Reports[i]
		}
	}
	return nil
}

func (r *Report) holds(l hook.Line) bool {
	for key, value := range r.When {
		if l.Text(key) != value {
			return false
		}
	}
	return true
}
