package terminal

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"coleo.dev"
	"coleo.dev/config"
	"coleo.dev/hook"
)

// Hook describes what an agent CLI reports to a hook, and what each report proves. Where
// there is a hook, the parts of Launch pass it on by argv or environment, never in a file
// of the user's.
type Hook struct {
	Event   string   `toml:"event"`  // key of the payload that names the event
	Turn    string   `toml:"turn"`   // key of the id of a turn, where prompts may wait for their turn
	Strip   string   `toml:"strip"`  // pattern removed from a prompt's text: what the agent CLI puts around pastes
	Unless  Unless   `toml:"unless"` // where this file has a hook, the agent CLI gets none from Coleo
	Reports []Report `toml:"report"`

	strip *regexp.Regexp
}

// Unless describes a file of the user's that may already name a hook. It is for an agent
// CLI that takes one hook alone: the user's hook stays. With a Key Coleo's hook is given
// all the same and starts the user's hook afterwards, if that key can be read.
type Unless struct {
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
	h.Unless.pattern = c.regexp("hook.unless.pattern", h.Unless.Pattern)
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

// foretells reports whether the hook reports tools before their dialogs are drawn.
func (h *Hook) foretells() bool {
	return slices.ContainsFunc(h.Reports, func(r Report) bool {
		return r.Tool != "" && r.State == string(coleo.Executing)
	})
}

// events returns the events that have a report, each once.
func (h *Hook) events() []string {
	var out []string
	for _, r := range h.Reports {
		if !slices.Contains(out, r.Event) {
			out = append(out, r.Event)
		}
	}
	return out
}

// find returns the report that a line stands for, or nil when there is none.
func (h *Hook) find(l hook.Line) *Report {
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

// hookFacts is the hook as the templates of a Part see it.
type hookFacts struct {
	Program string
	Args    []string
	Events  []string
}

// Argv returns the hook's command line.
func (h *hookFacts) Argv() []string { return append([]string{h.Program}, h.Args...) }

// hookFor returns the hook that the agent CLI is given. It returns nil when the agent CLI
// takes no hook, or when the hook program is not there. It also returns nil when the user
// has a hook that Coleo's hook cannot start.
func (s *Spec) hookFor(c *coleo.SpawnConfig, program []string) *hookFacts {
	if len(s.Hook.Reports) == 0 || len(program) == 0 || !executable(program[0]) {
		return nil
	}
	h := &hookFacts{Program: program[0], Args: append(slices.Clone(program[1:]), hook.Path(c.Dir)),
		Events: s.Hook.events()}
	if text, has := s.Hook.Unless.read(c); has {
		theirs, err := config.Strings(text, s.Hook.Unless.Key)
		if err != nil || len(theirs) == 0 {
			return nil
		}
		h.Args = append(append(h.Args, hook.Then), theirs...)
	}
	return h
}

// read returns the user's file and reports whether it has a hook of the user's.
func (u *Unless) read(c *coleo.SpawnConfig) (text []byte, has bool) {
	if u.pattern == nil {
		return nil, false
	}
	folder := filepath.Join(home(c), u.Folder)
	if named := lookupEnv(c.Environ, u.FolderEnv); named != "" && c.Profile != coleo.ProfileHermetic {
		folder = named
	}
	text, err := os.ReadFile(filepath.Join(folder, u.File))
	return text, err == nil && u.pattern.Match(text)
}

// hookCommand returns the command line of the hook program. It returns nil where hold is
// not a command of Coleo.
func hookCommand(hold []string) []string {
	if len(hold) == 3 && filepath.IsAbs(hold[0]) && hold[1] == "hold" {
		return []string{hold[0], hook.Verb}
	}
	return nil
}
