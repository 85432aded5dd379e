package policy

import (
	"fmt"
	"strings"
	"time"

	"coleo.dev"
)

// Verdict is what a policy says of a request.
type Verdict string

// The verdicts, from the mildest to the strictest.
const (
	Allow Verdict = "allow"
	Ask   Verdict = "ask"
	Deny  Verdict = "deny"
)

// strictness orders the verdicts. The verdict "" says nothing.
var strictness = map[Verdict]int{"": 0, Allow: 1, Ask: 2, Deny: 3}

func stricter(a, b Verdict) bool { return strictness[a] > strictness[b] }

// Category says what a tool can do.
type Category string

// The categories of tools.
const (
	Read    Category = "read"
	Edit    Category = "edit"
	Execute Category = "execute"
	MCP     Category = "mcp"
	Network Category = "network"
	Other   Category = "other"
)

// CategoryOf returns the category of a tool's kind.
func CategoryOf(k coleo.ToolKind) Category {
	switch k {
	case coleo.ToolRead, coleo.ToolEdit, coleo.ToolExecute, coleo.ToolMCP:
		return Category(k)
	case coleo.ToolSubagent, coleo.ToolOther:
	}
	return Other
}

// Rule is one rule. It has exactly one of Tool, Category and Command.
type Rule struct {
	Tool     string   `toml:"tool"` // the agent CLI's name of a tool
	Category Category `toml:"category"`
	// Command is a command with its arguments, as words between blanks. The last word *
	// stands for any further arguments. Each command of a line needs a rule.
	Command string  `toml:"command"`
	Verdict Verdict `toml:"decision"`
}

// name returns the rule as messages show it.
func (r Rule) name() string {
	switch {
	case r.Command != "":
		return fmt.Sprintf("command %q", r.Command)
	case r.Tool != "":
		return "tool " + r.Tool
	}
	return "category " + string(r.Category)
}

// level says how special a rule is. Within one scope, the most special rules decide.
func (r Rule) level() int {
	switch {
	case r.Command != "":
		return 3
	case r.Tool != "":
		return 2
	}
	return 1
}

// PresetRead allows to read files of the workspace, and commands that only do so.
const PresetRead = "read"

// Scope is a set of rules with one author. The strictest of all scopes decides.
type Scope struct {
	Name   string // "project", "user" or "host"
	Preset string `toml:"preset"` // "" or PresetRead
	Rules  []Rule `toml:"rule"`
	// Untrusted rules can only deny: they came with the repository, and nobody has
	// trusted them yet.
	Untrusted bool
}

// Check returns an error for a scope that cannot be used.
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

// Grant is what a person has allowed for a while: for an arm, for one start of an arm, or
// for a conversation. It answers what a policy would ask. It never allows what a rule
// denies.
type Grant struct {
	Rule             // its verdict is not used
	ID     string    // for messages
	Arm    string    // "" for each arm
	Start  int       // the number of the arm's start; 0 for each start
	Thread string    // the agent CLI's id of a conversation; "" for each conversation
	Ends   time.Time // zero if it has no end
}
