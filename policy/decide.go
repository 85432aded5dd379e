package policy

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"coleo.dev/policy/commandline"
	"coleo.dev/policy/reading"
)

// Request describes a tool call about which an agent CLI asks.
type Request struct {
	Arm      string
	Start    int    // the number of the arm's start
	Thread   string // the conversation's id, as the agent CLI reports it; "" if not known
	Tool     string // the agent CLI's name of the tool; "" if not known
	Category Category
	Command  string // the whole command line, if the category is Execute
	Files    []string
	// Cut is true if Command or Files may be incomplete, because Coleo has read them only from a
	// screen. Decide then asks instead of allowing.
	Cut      bool
	Shell    commandline.Shell // "" if the shell is not known
	Shadowed []string          // see reading.Line
	Dir      string            // absolute path of the folder in which the tool works; "" if not known
	Now      time.Time
}

// Decision is the answer to a request.
type Decision struct {
	Verdict Verdict `json:"decision"`
	Rule    string  `json:"rule"` // the rule that decided, with its scope; DefaultRule if no rule applied
	Why     string  `json:"why"`  // the reason in one line, for users
}

// DefaultRule is the Rule of a Decision to which no rule applied.
const DefaultRule = "default"

// Decide returns what the rules and the grants decide about a request. If a scope has PresetRead,
// Decide also allows requests that only read files of the workspace.
func Decide(scopes []Scope, grants []Grant, w reading.Workspace, r Request) Decision {
	d := decider{workspace: w.Remembering(), request: r}
	d.parse()
	answer := Decision{Verdict: Ask, Rule: DefaultRule, Why: "no rule allows it"}
	said := Verdict("")
	for _, s := range scopes {
		got := d.decideScope(s)
		if s.Untrusted && got.Verdict != Deny {
			continue
		}
		if isStricter(got.Verdict, said) {
			said, answer = got.Verdict, got
		} else if said == "" && got.Why != "" {
			answer.Why = got.Why
		}
	}
	if why := d.mayBreak(scopes, Ask); answer.Verdict == Allow && why != nil {
		answer = Decision{Verdict: Ask, Rule: DefaultRule, Why: why.Error()}
	}
	if answer.Verdict == Ask && d.mayBreak(scopes, Deny) == nil {
		if g, ok := d.decideByGrant(grants); ok {
			return g
		}
	}
	if answer.Verdict == Allow && r.Cut {
		return Decision{Verdict: Ask, Rule: DefaultRule, Why: "Coleo has seen only a part of the request"}
	}
	return answer
}

// mayBreak returns an error, with the reason, if a rule for commands may apply to the request's command line
// without Coleo knowing it. Only rules with the given verdict or a stricter one count. There are two cases:
//
//   - parse could not find the commands of the line.
//   - Rule.mayApplyTo is true for one of them, and no rule that allows this command names the same words.
func (d *decider) mayBreak(scopes []Scope, least Verdict) error {
	var allowed, strict []Rule
	for _, s := range scopes {
		for _, r := range s.Rules {
			switch {
			case r.Command == "" || s.Untrusted && r.Verdict != Deny:
			case r.Verdict == Allow:
				allowed = append(allowed, r)
			case !isStricter(least, r.Verdict):
				strict = append(strict, r)
			}
		}
	}
	if len(strict) > 0 && d.unclear != nil {
		return d.unclear
	}
	for _, c := range d.commands {
		for _, r := range strict {
			named := func(a Rule) bool { return a.appliesToCommand(c) && r.isNamedBy(a.asCommand()) }
			if r.mayApplyTo(c) && !slices.ContainsFunc(allowed, named) {
				return fmt.Errorf("it may do what the rule for %q does not allow", r.Command)
			}
		}
	}
	return nil
}

// decider contains one request, and the commands that its command line starts.
type decider struct {
	workspace reading.Workspace
	request   Request
	commands  []commandline.Command
	unclear   error // the reason why parse could not find the commands; nil if it found them
}

// parse finds the commands that the request's command line starts.
func (d *decider) parse() {
	r := d.request
	switch {
	case r.Category != Execute:
	case r.Shell == "":
		d.unclear = fmt.Errorf("the shell of the command is not known")
	case r.Dir == "":
		d.unclear = fmt.Errorf("the folder of the command is not known")
	default:
		d.unclear = withoutPanic(func() (err error) {
			d.commands, err = d.workspace.Commands(reading.Line{Text: r.Command, Shell: r.Shell, Dir: r.Dir})
			return err
		})
	}
}

// withoutPanic calls `judge`, and turns a panic into an error. An agent CLI chooses the text that `judge`
// reads, so a defect that this text uncovers must not end the process. After an error, the policy asks a
// person.
func withoutPanic(judge func() error) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("because of a defect in Coleo, this could not be judged: %v", fault)
		}
	}()
	return judge()
}

// decideScope returns the decision of one scope. If neither a rule nor the preset of the scope decides, the
// Verdict is "". In that case, Why says why the preset does not allow the request.
func (d *decider) decideScope(s Scope) Decision {
	best := Decision{}
	level := 0
	for _, r := range s.Rules {
		if r.Command != "" || !r.appliesTo(d.request) {
			continue
		}
		if r.level() > level || r.level() == level && isStricter(r.Verdict, best.Verdict) {
			level = r.level()
			best = Decision{Verdict: r.Verdict, Rule: s.Name + ": " + r.name(), Why: "the rule says so"}
		}
	}
	if got := d.byCommand(s); got.Verdict != "" {
		return got
	}
	if best.Verdict != "" || s.Preset != PresetRead {
		return best
	}
	return d.decidePreset(s)
}

// appliesTo reports whether a rule for a tool or a category applies to the request.
func (r Rule) appliesTo(q Request) bool {
	if r.Tool != "" {
		return r.Tool == q.Tool
	}
	return r.Category == q.Category
}

// byCommand returns what the scope's rules for commands decide about the request's command line. The line is
// allowed only if a rule or the preset allows each of its commands.
func (d *decider) byCommand(s Scope) Decision {
	var ruled []Rule
	for _, r := range s.Rules {
		if r.Command != "" {
			ruled = append(ruled, r)
		}
	}
	if len(ruled) == 0 || d.request.Category != Execute || d.unclear != nil {
		return Decision{}
	}
	answer, open := Decision{}, false
	for _, c := range d.commands {
		rule, ok := strictestRule(ruled, c)
		if !ok {
			open = open || s.Preset != PresetRead || withoutPanic(func() error {
				return d.workspace.JudgeCommand(c, d.request.Shadowed)
			}) != nil
			continue
		}
		if isStricter(rule.Verdict, answer.Verdict) {
			answer = Decision{Verdict: rule.Verdict, Rule: s.Name + ": " + rule.name(), Why: "the rule says so"}
		}
	}
	if answer.Verdict == Allow && (open || d.opensFiles()) {
		return Decision{}
	}
	return answer
}

// opensFiles reports whether the shell itself opens a file for one of the commands, as in `sort < FILE`.
func (d *decider) opensFiles() bool {
	return slices.ContainsFunc(d.commands, func(c commandline.Command) bool { return len(c.Inputs) > 0 })
}

// strictestRule returns the strictest of the rules that apply to a command.
func strictestRule(rules []Rule, c commandline.Command) (Rule, bool) {
	var best Rule
	for _, r := range rules {
		if r.appliesToCommand(c) && isStricter(r.Verdict, best.Verdict) {
			best = r
		}
	}
	return best, best.Verdict != ""
}

// appliesToCommand reports whether a rule for commands applies to the command. A command can have an unknown
// word, such as $X:
//   - A rule with the verdict allow does not apply to such a command.
//   - For every other rule, an unknown word matches any word of the rule, so that the rule is never too mild.
//
// If a rule that does not allow names a program without a path, it also applies to this program with a path, such as
// /bin/rm.
func (r Rule) appliesToCommand(c commandline.Command) bool {
	words := strings.Fields(r.Command)
	open := words[len(words)-1] == "*"
	if open {
		words = words[:len(words)-1]
	}
	if len(c.Words) < len(words) || !open && len(c.Words) > len(words) {
		return false
	}
	for i, w := range c.Words {
		switch {
		case w.Unknown && r.Verdict == Allow:
			return false
		case i == 0 && i < len(words) && r.Verdict != Allow && path.Base(w.Text) == words[i]:
		case i < len(words) && !w.Unknown && w.Text != words[i]:
			return false
		}
	}
	return true
}

// decidePreset returns the decision of the scope's preset. If the preset does not allow the request, the
// Verdict is "" and Why contains the reason.
func (d *decider) decidePreset(s Scope) Decision {
	var why error
	switch r := d.request; {
	case r.Category == Execute && d.unclear != nil:
		why = d.unclear
	case r.Category == Execute:
		why = withoutPanic(func() error { return d.workspace.JudgeAll(d.commands, r.Shadowed) })
	case r.Category == Read && len(r.Files) == 0:
		why = fmt.Errorf("it is not known which files the tool reads")
	case r.Category == Read:
		why = withoutPanic(d.checkFiles)
	default:
		why = fmt.Errorf("the preset %s allows no tool of the category %s", s.Preset, r.Category)
	}
	if why != nil {
		return Decision{Why: why.Error()}
	}
	return Decision{Verdict: Allow, Rule: s.Name + ": preset " + s.Preset, Why: "it only reads files of the workspace"}
}

func (d *decider) checkFiles() error {
	for _, f := range d.request.Files {
		if !strings.HasPrefix(f, "/") && d.request.Dir == "" {
			return fmt.Errorf("the folder of %s is not known", f)
		}
		if strings.HasPrefix(f, "~") {
			return fmt.Errorf("the tool may treat the ~ in %s as a home folder", f)
		}
		if err := d.workspace.CheckPath(d.request.Dir, f); err != nil {
			return err
		}
	}
	return nil
}

// decideByGrant returns the decision of the first grant that allows the request. It returns false if
// there is no such grant.
func (d *decider) decideByGrant(grants []Grant) (Decision, bool) {
	if d.request.Cut {
		return Decision{}, false
	}
	for _, g := range grants {
		if !g.covers(d.request) {
			continue
		}
		g.Verdict = Allow
		if g.Command == "" && g.appliesTo(d.request) || g.Command != "" && d.grantsAll(g.Rule) {
			return Decision{Verdict: Allow, Rule: "grant " + g.ID + ": " + g.name(), Why: "a person has granted it"}, true
		}
	}
	return Decision{}, false
}

// covers reports whether a grant applies to the arm, the start, the conversation and the time of a request. A
// field of the grant that is not set applies to all of them.
func (g Grant) covers(q Request) bool {
	return (g.Arm == "" || g.Arm == q.Arm) && (g.Start == 0 || g.Start == q.Start) &&
		(g.Thread == "" || g.Thread == q.Thread) && (g.Ends.IsZero() || q.Now.Before(g.Ends))
}

// grantsAll reports whether a rule applies to each command of the request.
func (d *decider) grantsAll(r Rule) bool {
	if d.request.Category != Execute || d.unclear != nil || len(d.commands) == 0 || d.opensFiles() {
		return false
	}
	return !slices.ContainsFunc(d.commands, func(c commandline.Command) bool { return !r.appliesToCommand(c) })
}
