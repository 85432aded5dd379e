package policy

import (
	"fmt"
	"strings"
	"time"

	"coleo.dev"
)

// Verdict is a policy's answer to a request: allow, ask or deny.
type Verdict string

// These are the verdicts, from the mildest to the strictest.
const (
	Allow Verdict = "allow"
	Ask   Verdict = "ask"
	Deny  Verdict = "deny"
)

// strictness orders the verdicts. The verdict "" means that no rule applies.
var strictness = map[Verdict]int{"": 0, Allow: 1, Ask: 2, Deny: 3}

func isStricter(a, b Verdict) bool { return strictness[a] > strictness[b] }

// Category is a group of tools with similar effects, such as reading or editing.
type Category string

// These are the categories of tools.
const (
	Read    Category = "read"
	Edit    Category = "edit"
	Execute Category = "execute"
	MCP     Category = "mcp"
	Network Category = "network"
	Other   Category = "other"
)

// Rule is one rule of a policy. Exactly one of Tool, Category and Command is set.
type Rule struct {
	Tool     string   `toml:"tool"` // the agent CLI's name of a tool
	Category Category `toml:"category"`
	// Command is a command with its arguments, separated by blanks. A * as the last word matches
	// any further arguments. A line with several commands needs a rule for each command.
	Command string  `toml:"command"`
	Verdict Verdict `toml:"decision"`
}

// name returns a description of the rule for messages.
func (r Rule) name() string {
	switch {
	case r.Command != "":
		return fmt.Sprintf("command %q", r.Command)
	case r.Tool != "":
		return "tool " + r.Tool
	}
	return "category " + string(r.Category)
}

// level returns how specific a rule is. Within one scope, the most specific rules decide.
func (r Rule) level() int {
	switch {
	case r.Command != "":
		return 3
	case r.Tool != "":
		return 2
	}
	return 1
}

// PresetRead allows reading files of the workspace, and commands that only read such files.
const PresetRead = "read"

// Scope is a set of rules with one author. If there are several scopes, the strictest verdict
// decides.
type Scope struct {
	Name   string // "project", "user" or "host"
	Preset string `toml:"preset"` // "" or PresetRead
	Rules  []Rule `toml:"rule"`
	// Untrusted is true if the rules came with the repository and the user has not trusted them.
	// Such rules can only deny.
	Untrusted bool
}

// Check returns an error if the scope cannot be used.
func (s Scope) Check() error {
	if s.Preset != "" && s.Preset != PresetRead {
		return coleo.Errorf(coleo.EInvalid, "the %s policy has the preset %q: there is only %q", s.Name, s.Preset, PresetRead)
	}
	for i, r := range s.Rules {
		if err := r.check(); err != nil {
			return coleo.Errorf(coleo.EInvalid, "rule %d of the %s policy %v", i+1, s.Name, err)
		}
	}
	return nil
}

func (r Rule) check() error {
	set := 0
	for _, has := range []bool{r.Tool != "", r.Category != "", strings.TrimSpace(r.Command) != ""} {
		if has {
			set++
		}
	}
	if set != 1 {
		return fmt.Errorf("must have exactly one of tool, category and command")
	}
	switch r.Category {
	case "", Read, Edit, Execute, MCP, Network, Other:
	default:
		return fmt.Errorf("has the category %q: the categories are read, edit, execute, mcp, network and other", r.Category)
	}
	if strictness[r.Verdict] == 0 {
		return fmt.Errorf("has the decision %q: the decisions are allow, ask and deny", r.Verdict)
	}
	return nil
}

// Grant is a permission that a person has given for a limited time. It is for an arm, for one start
// of an arm, or for a conversation. A grant allows requests that the rules would ask about, but
// never overrides a rule that denies.
type Grant struct {
	Rule             // the Verdict of this rule is ignored
	ID     string    // for messages
	Arm    string    // "" for every arm
	Start  int       // the number of the arm's start; 0 for every start
	Thread string    // the conversation's id, as the agent CLI reports it; "" for every conversation
	Ends   time.Time // when the grant ends; zero for a grant without an end
}
