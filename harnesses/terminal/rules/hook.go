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
	Event    string   `toml:"event"`  // key of the payload that names the event
	Turn     string   `toml:"turn"`   // key of the id of a turn, where prompts may wait for their turn
	Strip    string   `toml:"strip"`  // pattern removed from a prompt's text: what the agent CLI puts around pastes
	UserHook UserHook `toml:"unless"` // where this file has a hook, the agent CLI gets none from Coleo
	Reports  []Report `toml:"report"`

	strip *regexp.Regexp
}

// UserHook describes a file of the user's that may already name a hook. It is for an agent
// CLI that takes one hook alone: the user's hook stays. With a Key Coleo's hook is given
// all the same and starts the user's hook afterwards, if that key can be read.
type UserHook struct {
	FolderEnv string `toml:"folder_env"` // variable that names the folder
	Folder    string `toml:"folder"`     // folder below HOME, without that variable
	File      string `toml:"file"`
	Pattern   string `toml:"pattern"` // matched against the file's text
	Key       string `toml:"key"`     // key of the user's hook in the file, which is TOML: a command line as a list

	pattern *regexp.Regexp
}

// Report is what one event proves. Of several reports for one event, the first whose When
// conditions all hold counts.
type Report struct {
	Event   string            `toml:"event"`
	When    map[string]string `toml:"when"`    // other keys of the payload and their values
	State   string            `toml:"state"`   // the state that the event claims; empty: the earlier claim is over
	Prompt  string            `toml:"prompt"`  // key of the text of the prompt that the agent CLI took
	Prompts string            `toml:"prompts"` // key of a list of prompts, the last one being the turn's
	Answer  string            `toml:"answer"`  // key of the answer's text; the turn has ended
	Tool    string            `toml:"tool"`    // key of the name of the tool that is about to run
	Input   string            `toml:"input"`   // key of that tool's input
	Detail  string            `toml:"detail"`  // key of a text for people
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
