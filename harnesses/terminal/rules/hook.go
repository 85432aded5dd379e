package rules

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"coleo.dev"
	"coleo.dev/hook"
	"coleo.dev/printable"
)

// Hook describes what an agent CLI reports to a hook program, and what each report proves. Launch.Parts
// pass the hook to the agent CLI on the command line or in the environment. They never write it into
// one of the user's files.
type Hook struct {
	// The key that names the event in a report: `hook_event_name`. This key is required if the
	// table has a `report`.
	Event string `toml:"event"`
	// The key whose value is the id of a turn: `prompt_id`. Set this key if the agent CLI can queue
	// prompts.
	Turn string `toml:"turn"`
	// The pattern of the text that the agent CLI adds around a prompt, such as `</?pasted>`. Coleo
	// removes each match before it compares prompts.
	Strip patternText `toml:"strip"`
	// The user's file that may already name a hook program. Use this table for an agent CLI that
	// supports only one hook. If the file names a hook program, the agent CLI keeps using it, and
	// Coleo adds its own hook only if `key` is set.
	UserHook UserHook `toml:"unless"`
	// What one event of the agent CLI proves, such as that a prompt arrived or that a turn ended. An event
	// can have several reports. Coleo uses the first report whose `when` conditions all hold. In the
	// templates of `[[launch.part]]`, `.Hook.Events` is the list of the events that have a report.
	Reports []Report `toml:"report"`

	strip *regexp.Regexp
}

// UserHook describes a file of the user that may already name a hook program. It is for an agent CLI
// that supports only one hook. The user's hook always runs. If Coleo can read the value of Key, the
// agent CLI starts Coleo's hook, which then starts the user's hook. Otherwise the agent CLI has only
// the user's hook.
type UserHook struct {
	// The environment variable that names the folder of the file. It takes precedence
	// over `folder`.
	FolderEnv string `toml:"folder_env"`
	// The folder of the file, as a path below HOME, such as `.mine`.
	Folder string `toml:"folder"`
	// The name of the file in `folder`, such as `config.toml`.
	File string `toml:"file"`
	// The pattern that matches the file's text if the file names a hook: `(?m)^notify`.
	Pattern patternText `toml:"pattern"`
	// The key of the user's hook in the file. Set this key only if the file is TOML and the value is
	// a command line as a list. The agent CLI then starts Coleo's hook, which passes each report to
	// the user's hook.
	Key string `toml:"key"`

	pattern *regexp.Regexp
}

// Report describes what one event of a hook proves, such as that a prompt arrived or that a turn ended.
// An event can have several reports. Coleo uses the first report whose When conditions all hold.
type Report struct {
	// The name of the event, such as `PreToolUse`. The key is required.
	Event string `toml:"event"`
	// The required values of other keys in the report: `{ notification_type = "permission_prompt" }`.
	When map[string]string `toml:"when"`
	// The state that the event claims: `processing`, `executing` or `waiting_approval`.
	// Without this key, the event ends the hook's earlier claim.
	State string `toml:"state"`
	// The key whose value is the text of the prompt that the agent CLI took. An event with this key
	// proves that the prompt arrived.
	Prompt string `toml:"prompt"`
	// The key whose value is the id of the conversation, such as `session_id`. Coleo needs this id because
	// a person can begin or continue another conversation inside the agent CLI. Set this key only for an
	// event of a prompt, because a conversation without a prompt cannot be continued later.
	Conversation string `toml:"conversation"`
	// The key whose value is a list of prompts. The last prompt in the list is the prompt of the
	// turn.
	Prompts string `toml:"prompts"`
	// The key whose value is the text of the answer. An event with this key ends the turn.
	Answer string `toml:"answer"`
	// The key whose value is the name of the tool that is about to run.
	Tool string `toml:"tool"`
	// The key whose value is the input of the tool in `tool`. If the screen cuts off the subject of a
	// dialog, Coleo completes the subject with this input.
	Input string `toml:"input"`
	// The key whose value is the folder in which the tool in `tool` works, such as `cwd`.
	Folder string `toml:"folder"`
	// The key whose value is a text for people, such as the reason for an error. Coleo shows the
	// text with the state.
	Detail string `toml:"detail"`
}

// PolicyRule describes how a policy judges the tool calls that the agent CLI asks about. Without a
// PolicyRule, a policy leaves each dialog to a person.
type PolicyRule struct {
	// The shell that runs commands.
	Shell coleo.ShellRule `toml:"shell"`
	// One tool of the agent CLI that a policy can judge.
	Tools []PolicyTool `toml:"tool"`
}

// PolicyTool describes how to judge the calls of one tool. If a call has an input that PolicyTool
// does not name, the policy leaves the call to a person.
type PolicyTool struct {
	// The tool's name, as the agent CLI spells it. A `*` at the end stands for any text: `mcp__*`. The key is
	// required.
	Name string `toml:"name"`
	// What the tool can do: `read`, `edit`, `execute`, `mcp`, `network` or `other`. The key
	// is required.
	Category string `toml:"category"`
	// The name of the input that is a command line.
	Command string `toml:"command"`
	// The names of the inputs that are paths of files.
	Files []string `toml:"files"`
	// The names of the inputs that the dialog shows in its subject, from top to bottom. If the dialog shows
	// any other text, Coleo assumes that the dialog is about another call. The key is required, except with
	// `about`.
	Shows []string `toml:"shows"`
	// The pattern of text that the agent CLI itself adds to the subject's rows: `^ Bash command$`. Such
	// text is no part of the inputs. Coleo removes each match before it compares the rows.
	Rows patternText `toml:"rows"`
	// The pattern of the title and the rows of the subject. Use it for a dialog that does not show its
	// inputs whole: `^Create (?P<path>\S+)\?$`. Each named group has the name of an input, or the name
	// `tool`. A group with the name of an input must match the end of this input. The group `tool` must
	// match a part of the tool's name.
	About patternText `toml:"about"`
	// The names of the other inputs that a call can have. They do not change how the call is
	// judged. `*` stands for all other inputs.
	Free []string `toml:"free"`

	rows, about *regexp.Regexp
}

// policyCategories are the categories that a tool can have.
var policyCategories = []string{"read", "edit", "execute", "mcp", "network", "other"}

func (c *compiler) policy(p *PolicyRule) {
	for i := range p.Tools {
		t := &p.Tools[i]
		path := fmt.Sprintf("policy.tool[%d]", i)
		t.rows = c.regexp(path+".rows", t.Rows)
		t.about = c.regexp(path+".about", t.About)
		switch {
		case t.Name == "":
			c.fail(path, "a tool of the policy needs a name")
		case !slices.Contains(policyCategories, t.Category):
			c.fail(path+".category", "tool %q: category must be one of %s, not %q", t.Name,
				printable.List(policyCategories), t.Category)
		case len(t.Shows) == 0 && t.about == nil:
			c.fail(path, "tool %q needs shows: which inputs does the dialog show?", t.Name)
		case t.Category == "execute" && t.Command == "":
			c.fail(path, "tool %q needs command: which input is the command line?", t.Name)
		case t.Command != "" && !slices.Contains(t.Shows, t.Command):
			c.fail(path+".shows", "tool %q: the dialog must show the command line %q", t.Name, t.Command)
		}
	}
}

// Tool returns the PolicyTool for the tool with the given name, or nil if the policy leaves that tool
// to a person.
func (p *PolicyRule) Tool(name string) *PolicyTool {
	fits := func(t PolicyTool) bool {
		begin, open := strings.CutSuffix(t.Name, "*")
		return t.Name == name || open && strings.HasPrefix(name, begin)
	}
	if i := slices.IndexFunc(p.Tools, fits); i >= 0 {
		return &p.Tools[i]
	}
	return nil
}

// IsAbout reports whether the dialog asks about a given call of the tool t. The parameter `toolName` is
// the tool's name. The parameter `textInputs` contains those inputs of the call that are texts.
//
// If t has a pattern About, that pattern decides: see describesCall. Otherwise the subject must consist
// of the inputs in t.Shows. If the subject is cut off, its visible rows must be part of these inputs.
// IsAbout ignores blanks.
func (v Verdict) IsAbout(t *PolicyTool, toolName string, textInputs map[string]string) bool {
	if v.Dialog == nil || v.Draft || v.Partial {
		return false
	}
	if t.about != nil {
		return v.describesCall(t.about, toolName, textInputs)
	}
	var texts []string
	for _, shown := range t.Shows {
		texts = append(texts, textInputs[shown])
	}
	return t.fits(v.subject, squeeze(strings.Join(texts, "")), v.CutOff())
}

// fits reports whether the rows of a subject show the text `want`, or a part of it if isCut is true. The
// model can write a text that looks like a row of the agent CLI. So each row that matches t.Rows counts in
// two ways: as a row of the agent CLI, and as a part of the text.
func (t *PolicyTool) fits(subject []string, want string, isCut bool) bool {
	anywhere := isCut               // no row so far shows a text, so the next row can begin anywhere in `want`
	ends := map[int]bool{0: !isCut} // the offsets in `want` at which the rows so far can end
	showsText := false
	for _, row := range subject {
		if isCut {
			row = strings.Trim(row, boxDrawing+"…")
		}
		whole, bare := squeeze(row), squeeze(row)
		if t.rows != nil {
			bare = squeeze(t.rows.ReplaceAllString(row, ""))
		}
		showsText = showsText || bare != ""
		next := map[int]bool{}
		for _, text := range []string{whole, bare} {
			for at, isEnd := range ends {
				if isEnd && strings.HasPrefix(want[at:], text) {
					next[at+len(text)] = true
				}
			}
			for at := 0; anywhere && text != "" && strings.Contains(want[at:], text); at++ {
				at += strings.Index(want[at:], text)
				next[at+len(text)] = true
			}
		}
		ends, anywhere = next, anywhere && bare == ""
	}
	if isCut {
		return showsText && len(ends) > 0
	}
	return want != "" && ends[len(want)]
}

// MayAskAbout reports whether the dialog can ask about a call of the tool t, whatever the call's inputs are.
func (v Verdict) MayAskAbout(t *PolicyTool) bool {
	return t.about == nil || v.Dialog != nil && t.about.MatchString(v.text())
}

// text returns the title and the rows of the subject.
func (v Verdict) text() string {
	return strings.Join(append([]string{v.Dialog.Title}, v.subject...), "\n")
}

// describesCall reports whether the dialog's text matches the pattern and fits the call. Each group
// with the name of an input must match the end of that input. The group "tool" must match a part of
// the tool's name.
func (v Verdict) describesCall(about *regexp.Regexp, name string, inputs map[string]string) bool {
	m := about.FindStringSubmatch(v.text())
	if m == nil {
		return false
	}
	for i, group := range about.SubexpNames() {
		text := squeeze(m[i])
		switch {
		case group == "":
		case text == "":
			return false
		case group == "tool" && !strings.Contains(name, text):
			return false
		case group != "tool" && !strings.HasSuffix(squeeze(inputs[group]), text):
			return false
		}
	}
	return true
}

// IsNamed reports whether t has a pattern About. Such a pattern names only parts of a call, so it may
// also match the dialog of another tool. For t, Coleo therefore accepts a call only if the newest call
// that the hook has reported is of the same tool.
func (t *PolicyTool) IsNamed() bool { return t.about != nil }

// CutOff reports whether the screen shows only a part of the dialog's subject.
func (v Verdict) CutOff() bool { return v.shown != nil || v.Dialog.Truncated }

// claimable contains the states that a hook may claim. In each of these states, the arm accepts no
// new work.
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
			c.fail(path+".state", "report %q: a hook may claim %s, not %q", r.Event,
				printable.List(claimable), r.State)
		}
	}
}

// In reports whether the given text of the user's file names a hook.
func (u *UserHook) In(text []byte) bool { return u.pattern != nil && u.pattern.Match(text) }

// Bare returns the prompt without blanks, and without the text that the agent CLI adds around
// prompts.
func (h *Hook) Bare(prompt string) string {
	if h.strip != nil {
		prompt = h.strip.ReplaceAllString(prompt, "")
	}
	return squeeze(prompt)
}

// ReportsTools reports whether the hook reports a tool before the agent CLI draws the dialog about
// the tool.
func (h *Hook) ReportsTools() bool {
	return slices.ContainsFunc(h.Reports, func(r Report) bool {
		return r.Tool != "" && r.State == string(coleo.Executing)
	})
}

// Events returns the names of the events that have a report, each once.
func (h *Hook) Events() []string {
	var out []string
	for _, r := range h.Reports {
		if !slices.Contains(out, r.Event) {
			out = append(out, r.Event)
		}
	}
	return out
}

// Find returns the report that describes the given line of the hook's file, or nil if there is none.
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
