package coleo

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Mode is a way of working of an agent CLI, such as planning. Usually the mode belongs to the agent
// CLI. If Instructions is set and Switchable is false, the mode belongs to Coleo, and the agent CLI
// does not know it.
type Mode struct {
	ID    string `json:"id"`              // the name of the mode in orders, such as "plan"
	Title string `json:"title,omitempty"` // the name for people
	// Permission is the permission mode with which the agent CLI starts in this mode. It is "" if
	// there is no such permission mode.
	Permission PermissionMode `json:"permission,omitempty"`
	// DefaultModel is the model that the mode uses until a user chooses another model. It has the
	// form PROVIDER/MODEL or MODEL. It is "" if a switch to the mode does not change the model.
	DefaultModel string `json:"default_model,omitempty"`
	// Instructions is text that Coleo puts in front of the next prompt. A mode has instructions only
	// if no key and no command of the agent CLI can select it.
	Instructions string `json:"instructions,omitempty"`
	// TransitionsTo contains the ids of the modes that can follow this mode. If it is empty, any
	// mode can follow.
	TransitionsTo []string `json:"transitions_to,omitempty"`
	Color         string   `json:"color,omitempty"` // the color in which people see the mode: a name or #rrggbb
	// Confirm means that in this mode the agent CLI may ask less often than a user expects. Coleo
	// therefore switches to the mode only if ModeOrder.Allow is set.
	Confirm bool `json:"confirm,omitempty"`
	// Switchable means that Coleo can switch a running agent CLI to the mode. It is false for a mode
	// that Coleo can only recognize on the screen, and for a mode that consists only of instructions.
	Switchable bool `json:"switchable"`
}

// ModeOrder asks for another mode.
type ModeOrder struct {
	Mode      string `json:"mode"`                // the id of the mode
	Allow     bool   `json:"allow,omitempty"`     // whether to switch even to a mode that has Confirm set
	Interrupt bool   `json:"interrupt,omitempty"` // whether to stop the running turn first
}

// ModeSwitch is the result of a ModeOrder.
type ModeSwitch struct {
	From    string   `json:"from,omitempty"`    // the mode before the switch; "" if the screen did not show it
	To      string   `json:"to"`                // the mode that the screen showed last
	Pressed []string `json:"pressed,omitempty"` // the keys that were pressed, in order, or the command that was typed
	Seen    []string `json:"seen,omitempty"`    // the mode that the screen showed after each key
	// Instructions means that the mode consists only of instructions. They are sent with the next
	// prompt, and the agent CLI's own mode has not changed.
	Instructions bool `json:"instructions,omitempty"`
	// Model is the model that the switch to the mode has set. It is "" if the model is the same as
	// before.
	Model string `json:"model,omitempty"`
	// Warning says what was not done, for example that the mode's model was not set.
	Warning string `json:"warning,omitempty"`
}

// ModelScope says which conversations or starts of an arm get the new model of a ModelOrder.
type ModelScope string

// The scopes.
const (
	ScopeArm    ModelScope = "arm"    // all conversations of the arm that have no model of their own
	ScopeThread ModelScope = "thread" // only the present conversation
	// ScopeDefault is for the arm's next starts. A running agent CLI keeps its model.
	ScopeDefault ModelScope = "default"
)

// ModelOrder asks for another model.
type ModelOrder struct {
	Model string     `json:"model"` // PROVIDER/MODEL or MODEL
	Scope ModelScope `json:"scope"`
	// Restart allows Coleo to restart the agent CLI and to resume the conversation. An agent CLI
	// that accepts a model only at its start needs a restart.
	Restart bool `json:"restart,omitempty"`
	// Fallback says which model may be used if the requested model is not available.
	Fallback FallbackStrategy `json:"fallback,omitempty"`
	// Seen means that the order only confirms that a person has seen which model replaces the
	// requested model. If Seen is set, the other fields are empty.
	Seen bool `json:"seen,omitempty"`
}

// FallbackStrategy says which model may replace a model that is not available. Programs send and
// store strategies, so their meaning never changes.
type FallbackStrategy string

// The strategies. An empty strategy means the strategy in config.toml, or FallbackAny if
// config.toml contains none.
const (
	FallbackAny       FallbackStrategy = "any"        // any model, so that an arm always starts
	FallbackSamePrice FallbackStrategy = "same-price" // a model with the same prices for input and output
	FallbackCheaper   FallbackStrategy = "cheaper"    // a model whose prices for input and output are not higher
	FallbackNone      FallbackStrategy = "none"       // no other model, so the order fails
)

// Valid reports whether s is one of the strategies, or empty.
func (s FallbackStrategy) Valid() bool {
	return slices.Contains([]FallbackStrategy{"", FallbackAny, FallbackSamePrice, FallbackCheaper, FallbackNone}, s)
}

// ModelFallback describes a model that an arm has in place of the requested model.
type ModelFallback struct {
	Asked    PricedModel      `json:"asked"`
	Used     PricedModel      `json:"used"`
	Reason   string           `json:"reason"` // one line for people
	Strategy FallbackStrategy `json:"strategy"`
	Time     time.Time        `json:"time"`
	// Seen means that a person has confirmed the fallback with 'coleo arm model NAME --seen'. Until
	// then, lists show a badge for the arm.
	Seen bool `json:"seen"`
}

// PricedModel is a model with its price.
type PricedModel struct {
	Model string `json:"model"`           // PROVIDER/MODEL or MODEL
	Price *Price `json:"price,omitempty"` // the price of the model; nil if nobody knows it
}

// String returns the model with its price, such as "p/m ($3 in, $15 out)".
func (m PricedModel) String() string {
	if m.Price == nil {
		return m.Model + " (price unknown)"
	}
	return fmt.Sprintf("%s ($%g in, $%g out)", m.Model, m.Price.Input, m.Price.Output)
}

// FirstLine returns the fallback as the first line of a command's output, including the newline. It
// returns "" for nil.
func (f *ModelFallback) FirstLine() string {
	if f == nil {
		return ""
	}
	return "Model: " + f.Line() + "\n"
}

// Line describes the fallback in one line for people, with the prices of both models per million
// tokens.
func (f ModelFallback) Line() string {
	return fmt.Sprintf("the model is %v instead of %v, per million tokens: %s", f.Used, f.Asked, f.Reason)
}

// ModelSwitch is the result of a ModelOrder.
type ModelSwitch struct {
	From string `json:"from,omitempty"`
	To   string `json:"to"`
	// Pending means that the agent CLI will take the model at its next start.
	Pending   bool `json:"pending,omitempty"`
	Restarted bool `json:"restarted,omitempty"`
	// Fallback names the requested model, if To is a different model.
	Fallback *ModelFallback `json:"fallback,omitempty"`
}

// Done describes what was typed and what the screen then showed, such as "typed: SHIFT_TAB; seen:
// plan". If no key was pressed, it returns "nothing was typed". Error messages contain this text.
func (s ModeSwitch) Done() string {
	switch {
	case len(s.Pressed) == 0:
		return "nothing was typed"
	case len(s.Seen) == 0:
		return "typed: " + strings.Join(s.Pressed, " ") + "; no other mode was seen"
	}
	return "typed: " + strings.Join(s.Pressed, " ") + "; seen: " + strings.Join(s.Seen, ", ")
}

// Chosen contains what a user has chosen for a running arm. It is a part of the arm's start
// configuration, so that a later start uses the same choices.
type Chosen struct {
	// Number increases with each change. If there are two copies of a Chosen, the copy with the
	// higher number applies.
	Number int `json:"number"`
	// Mode is the id of the mode that a user has ordered. It is "" if nobody has ordered a mode, or
	// if the mode has changed in another way since then.
	Mode string `json:"mode,omitempty"`
	// Unsaid contains instructions of the arm's mode. Coleo will send these instructions with the
	// next prompt.
	Unsaid string `json:"unsaid,omitempty"`
	// Model is the arm's model, as PROVIDER/MODEL or MODEL. If it is "", the model of the start
	// configuration applies.
	Model string `json:"model,omitempty"`
	// the model that the arm had when it left a mode; the key is the mode's id
	Modes map[string]string `json:"modes,omitempty"`
	// the model of each conversation that has its own; the key is the conversation's id
	Threads map[string]string `json:"threads,omitempty"`
	// Labels is a copy of the labels in the arm's row. If serve has lost its database, this copy
	// restores the labels in the new row.
	Labels Labels `json:"labels,omitempty"`
	// Budget is the arm's own budget, or nil if it has none.
	Budget *Budget `json:"budget,omitempty"`
	// OnLimit replaces SpawnConfig.OnLimit. It is "" if the user has not changed it.
	OnLimit OnLimit `json:"on_limit,omitempty"`
}

// mostThreads is the maximum number of conversations of an arm that have their own model. Without a
// limit, the arm's record would grow with each conversation.
const mostThreads = 50

// Change applies a change to a copy of c, and returns the copy with the next number. The copy
// shares no map with c. c can be nil.
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

// SetThread sets the model of a conversation. If more than mostThreads conversations have a model,
// SetThread removes the model of another conversation.
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

// SetMode stores the model that the arm had when it left a mode.
func (c *Chosen) SetMode(mode, model string) {
	if c.Modes == nil {
		c.Modes = map[string]string{}
	}
	c.Modes[mode] = model
}

// NewerChosen returns the copy with the higher number. If both have the same number, it returns
// the first of the two parameters. Both can be nil.
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

// ModelOf returns the provider and the model with which the arm is started. This is the model of
// the conversation, or else the model of the mode, or else the arm's own model.
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

// ModeLister is a harness whose agent CLI has modes.
type ModeLister interface {
	// Modes returns the modes, in the order of the harness's description.
	Modes() []Mode
}

// ModelSetter is a session that can give its running agent CLI another model.
type ModelSetter interface {
	// SetModel changes the model, and returns when the screen shows the new model. It returns
	// EUnsupported if the agent CLI can change its model only by a restart. It also returns the
	// errors of SendPrompt.
	SetModel(ctx context.Context, model string) error
}

// ModeSwitcher is a session whose agent CLI has modes. Reading.Mode is the present mode.
type ModeSwitcher interface {
	// Modes returns the modes, in the order of the harness's description.
	Modes() []Mode
	// SwitchMode switches to a mode, and returns when the screen shows the mode. It types only
	// while the agent CLI is idle. Together with an error, it returns what it did before the error.
	// The errors are those of SendPrompt and these:
	//
	//   - EUnsupported if Coleo cannot switch to the mode
	//   - ENotFound if there is no such mode
	//   - ETimeout if the screen did not show the mode
	SwitchMode(ctx context.Context, id string) (ModeSwitch, error)
}

// ModeByID returns the mode with the given id. It returns ENotFound if the list does not contain
// the mode, and EUnsupported if the list is empty. The last parameter is the name of the agent CLI
// for the error message.
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

// MayFollow returns nil if a user can switch to the mode m. The second parameter is the id of the
// present mode, or "" if the present mode is not known. The last parameter says whether the user
// allows a mode that has Confirm. The errors are:
//
//   - EConflict if the present mode does not lead to m
//   - EUnsupported if Coleo cannot switch to m
//   - EInvalid if m has Confirm and the user does not allow it
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
		return Errorf(EInvalid, "in the mode %s the agent CLI asks less often: nothing was typed; --allow (in the API "+
			"\"allow\": true) switches to it", m.ID)
	}
	return nil
}

// ModeIDs returns the ids of the modes to which Coleo can switch, in the order of the list.
func ModeIDs(list []Mode) []string {
	var out []string
	for _, m := range list {
		if m.Switchable || m.Instructions != "" {
			out = append(out, m.ID)
		}
	}
	return out
}

// Login says whether a user of a host is logged in to an agent CLI. Coleo finds this out without
// reading a secret.
type Login struct {
	Harness string `json:"harness"`
	Host    string `json:"host,omitempty"` // the id of the host agent
	// LoggedIn means that a variable with a key, or a file with a login, exists. Coleo has not
	// checked whether the model server accepts it.
	LoggedIn bool     `json:"logged_in"`
	Env      []string `json:"env,omitempty"`   // the names of the variables that contain a key; never their values
	Files    []string `json:"files,omitempty"` // the paths of the login files that exist, below HOME or absolute
}

// LoginChecker is a harness that can find out whether its user is logged in.
type LoginChecker interface {
	// Login checks the variables in environ, and checks which files exist below its HOME. It reads
	// no file, and returns no value of a variable.
	Login(environ []string) Login
}
