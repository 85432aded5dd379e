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

// Hook says what an agent CLI reports to a hook, and what that proves. The
// parts of Launch pass the hook on, where there is one: by argv or environment,
// never by a file of the user's.
type Hook struct {
	Event   string   `toml:"event"`  // key of the payload that names the event
	Turn    string   `toml:"turn"`   // key of what names a turn, where prompts may wait for their turn
	Strip   string   `toml:"strip"`  // cut out of a prompt's text: what the agent CLI puts around pastes
	Unless  Unless   `toml:"unless"` // then the agent CLI gets no hook
	Reports []Report `toml:"report"`

	strip *regexp.Regexp
}

// Unless is a file of the user's that already says who is told, where the agent
// CLI takes one hook alone: theirs stays. With a Key ours is given all the same
// and starts theirs afterwards, if it can be read there.
type Unless struct {
	FolderEnv string `toml:"folder_env"` // variable with its folder
	Folder    string `toml:"folder"`     // below HOME, without that variable
	File      string `toml:"file"`
	Pattern   string `toml:"pattern"` // of the file's text
	Key       string `toml:"key"`     // of the file, which is TOML: the command line that is told, a list

	pattern *regexp.Regexp
}

// Report is what one event proves. Of several for an event, the first all of
// whose When hold counts.
type Report struct {
	Event   string            `toml:"event"`
	When    map[string]string `toml:"when"`    // other keys of the payload and their values
	State   string            `toml:"state"`   // what it claims; empty: what was claimed is over
	Prompt  string            `toml:"prompt"`  // key of the prompt's text that the agent CLI took
	Prompts string            `toml:"prompts"` // key of a list of them, the last one being the turn's
	Answer  string            `toml:"answer"`  // key of the answer's text; the turn has ended
	Tool    string            `toml:"tool"`    // key of the name of the tool that is to run
	Input   string            `toml:"input"`   // key of that tool's input
	Detail  string            `toml:"detail"`  // key of a text for people
}

// claimable are the states that a hook may claim: none that lets go of an arm.
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

// foretells tells whether the hook tells of tools before their dialogs are drawn.
func (h *Hook) foretells() bool {
	return slices.ContainsFunc(h.Reports, func(r Report) bool { return r.Tool != "" && r.State == string(coleo.Executing) })
}

// events lists the events that mean something, each once.
func (h *Hook) events() []string {
	var out []string
	for _, r := range h.Reports {
		if !slices.Contains(out, r.Event) {
			out = append(out, r.Event)
		}
	}
	return out
}

// find returns what a line reports, nil when that is nothing.
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

// Argv is the hook's command line.
func (h *hookFacts) Argv() []string { return append([]string{h.Program}, h.Args...) }

// hookFor returns the hook that the agent CLI shall be given; nil when it takes
// none, when the program is not there, or when the user has one of their own
// that ours cannot start.
func (s *Spec) hookFor(c *coleo.SpawnConfig, program []string) *hookFacts {
	if len(s.Hook.Reports) == 0 || len(program) == 0 || !executable(program[0]) {
		return nil
	}
	h := &hookFacts{Program: program[0], Args: append(slices.Clone(program[1:]), hook.Path(c.Dir)), Events: s.Hook.events()}
	if text, has := s.Hook.Unless.read(c); has {
		theirs, err := config.Strings(text, s.Hook.Unless.Key)
		if err != nil || len(theirs) == 0 {
			return nil
		}
		h.Args = append(append(h.Args, hook.Then), theirs...)
	}
	return h
}

// read returns the user's file, and whether it has a hook of their own.
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

// hookCommand returns the command that is the hook program, where the one that
// becomes a holder is a program of Coleo; nil elsewhere.
func hookCommand(hold []string) []string {
	if len(hold) == 3 && filepath.IsAbs(hold[0]) && hold[1] == "hold" {
		return []string{hold[0], hook.Verb}
	}
	return nil
}
