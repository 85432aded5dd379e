package coleo

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Mode is a way of working of an agent CLI, such as planning. The agent CLI itself has
// the mode, except if Instructions is set and Switchable is false.
type Mode struct {
	ID    string `json:"id"`              // the name for orders, such as "plan"
	Title string `json:"title,omitempty"` // the name for people
	// Permission is the permission mode whose start gives this mode. It is "" if no start
	// gives the mode.
	Permission PermissionMode `json:"permission,omitempty"`
	// DefaultModel is the model of the mode, as PROVIDER/MODEL or MODEL, until a user has
	// chosen another one. It is "" if the mode keeps the model.
	DefaultModel string `json:"default_model,omitempty"`
	// Instructions are put before the next prompt, for a mode to which no key switches.
	Instructions string `json:"instructions,omitempty"`
	// TransitionsTo has the ids of the modes that can follow. If it is empty, each mode can.
	TransitionsTo []string `json:"transitions_to,omitempty"`
	Color         string   `json:"color,omitempty"` // for people: a name or #rrggbb
	// Confirm means that the agent CLI asks for less in this mode than a user may expect.
	// Coleo switches to it only if ModeOrder.Allow is set.
	Confirm bool `json:"confirm,omitempty"`
	// Switchable means that Coleo can switch a running agent CLI to the mode. Without it,
	// the mode is only read, or it has only instructions.
	Switchable bool `json:"switchable"`
}

// ModeOrder asks for another mode.
type ModeOrder struct {
	Mode      string `json:"mode"`                // the id
	Allow     bool   `json:"allow,omitempty"`     // also a mode with Confirm
	Interrupt bool   `json:"interrupt,omitempty"` // stop the running turn first
}

// ModeSwitch says what an order for a mode did.
type ModeSwitch struct {
	From    string   `json:"from,omitempty"`    // the mode before; "" if the screen did not show it
	To      string   `json:"to"`                // the mode that was seen last
	Pressed []string `json:"pressed,omitempty"` // the keys that were pressed, or the command, in order
	Seen    []string `json:"seen,omitempty"`    // the modes that the screen showed after each of them
	// Instructions means that the mode is one of instructions alone. They go with the next
	// prompt, and the agent CLI's own mode has not changed.
	Instructions bool `json:"instructions,omitempty"`
	// Model is the model that the mode has brought with it. It is "" if the model is the
	// same as before.
	Model string `json:"model,omitempty"`
	// Warning says what was not done, for example that the mode's model was not set.
	Warning string `json:"warning,omitempty"`
}

// ModelScope says for what an order for a model holds.
type ModelScope string

// The scopes.
const (
	ScopeArm    ModelScope = "arm"    // all conversations of the arm that have no model of their own
	ScopeThread ModelScope = "thread" // the present conversation alone
	// ScopeDefault is for the arm's next starts. The agent CLI that runs keeps its model.
	ScopeDefault ModelScope = "default"
)

// ModelOrder asks for another model.
type ModelOrder struct {
	Model string     `json:"model"` // PROVIDER/MODEL or MODEL
	Scope ModelScope `json:"scope"`
	// Restart allows a restart that resumes the conversation, for an agent CLI that takes a
	// model only at its start.
	Restart bool `json:"restart,omitempty"`
	// Fallback says which model may be used if this one is not available.
	Fallback FallbackStrategy `json:"fallback,omitempty"`
	// Seen changes no model. It says that a person has seen which model the arm has in place
	// of the requested one. The other fields are empty then.
	Seen bool `json:"seen,omitempty"`
}

// FallbackStrategy says which model may be used in place of one that is not available.
// Programs send and store strategies, so their meaning never changes.
type FallbackStrategy string

// The strategies. An empty strategy is that of config.toml, and FallbackAny without one.
const (
	FallbackAny       FallbackStrategy = "any"        // any model, so that an arm always starts
	FallbackSamePrice FallbackStrategy = "same-price" // one with the same two prices
	FallbackCheaper   FallbackStrategy = "cheaper"    // one of which neither price is higher
	FallbackNone      FallbackStrategy = "none"       // none: the order fails
)

// Valid reports whether s is one of the strategies, or empty.
func (s FallbackStrategy) Valid() bool {
	return slices.Contains([]FallbackStrategy{"", FallbackAny, FallbackSamePrice, FallbackCheaper, FallbackNone}, s)
}

// ModelFallback says that an arm has another model than the one that was asked for.
type ModelFallback struct {
	Asked    PricedModel      `json:"asked"`
	Used     PricedModel      `json:"used"`
	Reason   string           `json:"reason"` // one line for people
	Strategy FallbackStrategy `json:"strategy"`
	Time     time.Time        `json:"time"`
	// Seen means that a person has said so: see 'coleo arm model NAME --seen'. Until then,
	// the arm has a badge.
	Seen bool `json:"seen"`
}

// PricedModel is a model with its price.
type PricedModel struct {
	Model string `json:"model"`           // PROVIDER/MODEL or MODEL
	Price *Price `json:"price,omitempty"` // nil if nobody knows it
}

// String returns the model with its price, such as "p/m ($3 in, $15 out)".
func (m PricedModel) String() string {
	if m.Price == nil {
		return m.Model + " (price unknown)"
	}
	return fmt.Sprintf("%s ($%g in, $%g out)", m.Model, m.Price.Input, m.Price.Output)
}

// FirstLine returns the line that comes first in the output of a verb, with its end. It
// returns "" for nil.
func (f *ModelFallback) FirstLine() string {
	if f == nil {
		return ""
	}
	return "Model: " + f.Line() + "\n"
}

// Line returns the change in one line for people, with both prices per million tokens.
func (f ModelFallback) Line() string {
	return fmt.Sprintf("the model is %v instead of %v, per million tokens: %s", f.Used, f.Asked, f.Reason)
}

// ModelSwitch says what an order for a model did.
type ModelSwitch struct {
	From string `json:"from,omitempty"`
	To   string `json:"to"`
	// Pending means that the agent CLI takes the model at its next start.
	Pending   bool `json:"pending,omitempty"`
	Restarted bool `json:"restarted,omitempty"`
	// Fallback says which model was asked for, if To is another one.
	Fallback *ModelFallback `json:"fallback,omitempty"`
}

// Done returns what was pressed and seen, for an error: "SHIFT_TAB was pressed and plan
// was seen". It returns "nothing was typed" if no key was pressed.
func (s ModeSwitch) Done() string {
	switch {
	case len(s.Pressed) == 0:
		return "nothing was typed"
	case len(s.Seen) == 0:
		return "typed: " + strings.Join(s.Pressed, " ") + "; no other mode was seen"
	}
	return "typed: " + strings.Join(s.Pressed, " ") + "; seen: " + strings.Join(s.Seen, ", ")
}

// Chosen is what a user has chosen for an arm that runs. It is a part of the arm's start
// configuration, so that a later start continues with it.
type Chosen struct {
	// Number is higher with each change. Of two copies, the one with the higher number
	// counts.
	Number int `json:"number"`
	// Mode is the id of the mode that a user has ordered. It is "" if nobody has ordered
	// one, or if the mode was changed in another way since.
	Mode string `json:"mode,omitempty"`
	// Unsaid are the instructions of a mode. They go with the next prompt.
	Unsaid string `json:"unsaid,omitempty"`
	// Model is the arm's model, as PROVIDER/MODEL or MODEL. If it is "", the model of the
	// start configuration counts.
	Model   string            `json:"model,omitempty"`
	Modes   map[string]string `json:"modes,omitempty"`   // the model of each mode that was left, by the mode's id
	Threads map[string]string `json:"threads,omitempty"` // the model of a conversation, by its id
	// Labels is a copy of the arm's labels. It serves to find them again if serve has lost its
	// database. Otherwise the arm's row counts.
	Labels Labels `json:"labels,omitempty"`
	// Budget is the arm's own budget, or nil if it has none.
	Budget *Budget `json:"budget,omitempty"`
}

// mostThreads limits how many conversations of an arm have a model of their own.
const mostThreads = 50

// Change returns a copy of c with the next number. The result shares no map with c. The
// argument c can be nil.
func (c *Chosen) Change(change func(*Chosen)) *Chosen {
	var next Chosen
	if c != nil {
		next = *c
	}
	next.Number++
	next.Modes, next.Threads, next.Labels = maps.Clone(next.Modes), maps.Clone(next.Threads), maps.Clone(next.Labels)
	change(&next)
	return &next
}

// SetThread gives a conversation its model. If too many conversations have one, it forgets
// another one.
func (c *Chosen) SetThread(conversation, model string) {
	if c.Threads == nil {
		c.Threads = map[string]string{}
	}
	for id := range c.Threads {
		if len(c.Threads) < mostThreads {
			break
		}
		delete(c.Threads, id)
	}
	c.Threads[conversation] = model
}

// SetMode notes the model with which a mode is left.
func (c *Chosen) SetMode(mode, model string) {
	if c.Modes == nil {
		c.Modes = map[string]string{}
	}
	c.Modes[mode] = model
}

// NewerChosen returns the copy with the higher number. If both have the same number, it
// returns a. Each can be nil.
func NewerChosen(a, b *Chosen) *Chosen {
	if a == nil || b != nil && b.Number > a.Number {
		return b
	}
	return a
}

// ModelName returns a provider and a model as PROVIDER/MODEL, or the model alone if there
// is no provider.
func ModelName(provider, model string) string {
	if provider == "" {
		return model
	}
	return provider + "/" + model
}

// SplitModel splits PROVIDER/MODEL. The provider is "" if name is only a model.
func SplitModel(name string) (provider, model string) {
	if provider, model, ok := strings.Cut(name, "/"); ok {
		return provider, model
	}
	return "", name
}

// ModelOf returns the provider and the model with which the arm is started. The model of
// the conversation comes first, then that of the mode, then the arm's own one.
func (c SpawnConfig) ModelOf() (provider, model string) {
	if c.Chosen == nil || c.Scripted() {
		return c.Provider, c.Model
	}
	for _, name := range []string{c.Chosen.Threads[c.Conversation], c.Chosen.Modes[c.Chosen.Mode], c.Chosen.Model} {
		if name != "" {
			return SplitModel(name)
		}
	}
	return c.Provider, c.Model
}

// Moded is a harness whose agent CLI has modes.
type Moded interface {
	// Modes returns the modes, in the order of the harness's description.
	Modes() []Mode
}

// ModelSetter is a session that can give its running agent CLI another model.
type ModelSetter interface {
	// SetModel returns when the screen shows the model. It returns EUnsupported if the
	// agent CLI can change its model only by a restart. It also returns the errors of
	// SendPrompt.
	SetModel(ctx context.Context, model string) error
}

// Modal is a session whose agent CLI has modes. Reading.Mode is the present mode.
type Modal interface {
	// Modes returns the modes, in the order of the harness's description.
	Modes() []Mode
	// SwitchMode switches to a mode, and returns when the screen shows the mode. It types
	// only while the agent CLI is idle. If it returns an error, it also returns what it
	// did before the error. The errors are those of SendPrompt and these:
	//
	//   - EUnsupported if Coleo cannot switch to the mode
	//   - ENotFound if there is no such mode
	//   - ETimeout if the screen did not show the mode
	SwitchMode(ctx context.Context, id string) (ModeSwitch, error)
}

// ModeByID returns the mode with the given id. It returns ENotFound if the list does not
// have it, and EUnsupported if the list is empty. The argument of names the agent CLI.
func ModeByID(list []Mode, id, of string) (Mode, error) {
	if len(list) == 0 {
		return Mode{}, Errorf(EUnsupported, "the harness of %s knows no modes: nothing was typed", of)
	}
	i := slices.IndexFunc(list, func(m Mode) bool { return m.ID == id })
	if i < 0 {
		return Mode{}, Errorf(ENotFound, "%s has no mode %q: it has %s", of, id, strings.Join(ModeIDs(list), ", "))
	}
	return list[i], nil
}

// MayFollow returns an error if a user must not switch from the mode with the id from to
// the mode m: EConflict if the mode before does not lead to it, EUnsupported if nothing
// switches to it, and EInvalid if it must be allowed. The argument from can be "".
func MayFollow(list []Mode, from string, m Mode, allowed bool) error {
	i := slices.IndexFunc(list, func(m Mode) bool { return m.ID == from })
	switch {
	case !m.Switchable && m.Instructions == "":
		return Errorf(EUnsupported, "no key and no command switches to the mode %s: nothing was typed; the modes are %s",
			m.ID, strings.Join(ModeIDs(list), ", "))
	case i >= 0 && from != m.ID && len(list[i].TransitionsTo) > 0 && !slices.Contains(list[i].TransitionsTo, m.ID):
		return Errorf(EConflict, "the mode %s can be followed by %s alone, not by %s: nothing was typed", from,
			strings.Join(list[i].TransitionsTo, ", "), m.ID)
	case m.Confirm && !allowed:
		return Errorf(EInvalid, "in the mode %s the agent CLI asks for less: nothing was typed; --allow (in the API "+
			"\"allow\": true) switches to it", m.ID)
	}
	return nil
}

// ModeIDs returns the ids of the modes to which an order can switch, in order.
func ModeIDs(list []Mode) []string {
	var out []string
	for _, m := range list {
		if m.Switchable || m.Instructions != "" {
			out = append(out, m.ID)
		}
	}
	return out
}

// Login says whether a user of a host is logged in to an agent CLI, as far as that can be
// seen without reading a secret.
type Login struct {
	Harness string `json:"harness"`
	Host    string `json:"host,omitempty"` // id of the host agent
	// LoggedIn means that a variable with a key, or a file with a login, is there. Nobody
	// has tried whether the model server accepts it.
	LoggedIn bool     `json:"logged_in"`
	Env      []string `json:"env,omitempty"`   // names of the set variables with a key, never values
	Files    []string `json:"files,omitempty"` // paths below HOME of the files that are there
}

// Logged is a harness that can tell whether its user is logged in.
type Logged interface {
	// Login looks at the variables of environ, and for files below its HOME. It reads no
	// file, and returns no value of a variable.
	Login(environ []string) Login
}
