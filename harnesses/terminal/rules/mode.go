package rules

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"coleo.dev"
)

// maxModes is the largest number of modes of a harness.
const maxModes = 30

// Mode describes one mode of an agent CLI: how the screen shows it, and how Coleo switches to it.
type Mode struct {
	// The name of the mode in `coleo arm mode`. It consists of letters, digits, dots, dashes and
	// underscores. Use the agent CLI's own word, such as `plan`. The key is required.
	ID string `toml:"id"`
	// The name that Coleo shows to people.
	Title string `toml:"title"`
	// The conditions under which the screen shows this mode. Coleo tries the modes in the order of
	// the file. The first mode whose conditions all hold is the present mode. If there is no such
	// mode, the present mode does not change. A mode without conditions must have `instructions`.
	When []Cond `toml:"when"`
	// The permission mode that makes the agent CLI start in this mode: `ask`, `edit`, `plan` or `all`. When
	// Coleo restarts the agent CLI, it uses this permission mode, so that it need not press any key
	// afterwards to reach this mode.
	Permission string `toml:"permission"`
	// This key is `true` if `keys.mode` reaches this mode. Coleo presses those keys until the
	// screen shows the mode.
	Cycle bool `toml:"cycle"`
	// The key that switches straight to this mode from any other mode, such as `CTRL_Y`.
	Key keysText `toml:"key"`
	// The command that switches to this mode, such as `/approval-mode plan`. Coleo uses the command
	// instead of keys. This key needs `command_when`.
	Command string `toml:"command"`
	// The conditions under which Coleo submits the command that it has typed. For example, the menu of the
	// agent CLI must have marked this command, as for `compact_when`.
	CommandWhen []Cond `toml:"command_when"`
	// This key is `true` if the agent CLI asks less often in this mode than a user may expect.
	// Coleo switches to such a mode only with `--allow`.
	Confirm bool `toml:"confirm"`
	// The model of this mode, as `PROVIDER/MODEL` or `MODEL`, until the user chooses another one.
	// Without this key, a switch to the mode does not change the model.
	DefaultModel string `toml:"default_model"`
	// The text that Coleo puts before the next prompt. Use this key only if no key and no command of the
	// agent CLI switches to the mode.
	Instructions string `toml:"instructions"`
	// The modes to which the agent CLI can switch from this mode. Without this key, it can switch
	// to any mode.
	TransitionsTo []string `toml:"transitions_to"`
	// The color in which Coleo shows the mode: a name such as `cyan`, or `#rrggbb`.
	Color string `toml:"color"`
}

// ModelRule describes how Coleo changes the model of a running agent CLI.
type ModelRule struct {
	// The command that changes the model, such as `/model {{.Model}}`. Without this key, Coleo
	// changes the model by a restart that resumes the conversation.
	Command templateText `toml:"command"`
	// The conditions under which Coleo submits the command that it has typed. For example, the menu of the
	// agent CLI must have marked this command, as for `compact_when`. The key is required with `command`.
	When []Cond `toml:"when"`
	// The conditions under which the screen shows that the model has changed. A group named
	// `detail` must match the name of the new model. This key is required if `command` is set.
	Seen []Cond `toml:"seen"`
	// The provider of the agent CLI's models, under its name on models.dev, such as `anthropic`.
	// Set this key if all models of the agent CLI come from one provider.
	Provider string `toml:"provider"`
	// The pattern for the names of the agent CLI's models, which have the form PROVIDER/MODEL or MODEL.
	// Coleo accepts only names that match the pattern or that are in `names`. But an arm with a model
	// server of its own can use any name. Without this key, any name is allowed.
	Pattern patternText `toml:"pattern"`
	// Further allowed names, which need not match `pattern`, such as `sonnet`. The key requires `pattern`.
	Names []string `toml:"names"`
}

// modeIDs matches the values of Mode.ID.
var modeIDs = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// modeColors matches the values of Mode.Color.
var modeColors = regexp.MustCompile(`^([a-z]{1,20}|#[0-9a-f]{6})$`)

// ModeOf returns the id of the mode on the picture, or "" if the picture shows none.
func (s *Spec) ModeOf(p *Picture) string {
	for i := range s.Modes {
		if m := &s.Modes[i]; len(m.When) > 0 && p.Shows(m.When) {
			return m.ID
		}
	}
	return ""
}

// Mode returns the mode with the given id, or nil if there is none.
func (s *Spec) Mode(id string) *Mode {
	i := slices.IndexFunc(s.Modes, func(m Mode) bool { return m.ID == id })
	if i < 0 {
		return nil
	}
	return &s.Modes[i]
}

// ModeList returns the modes as coleo.Mode values, in the order of the file.
func (s *Spec) ModeList() []coleo.Mode {
	var out []coleo.Mode
	for _, m := range s.Modes {
		out = append(out, coleo.Mode{ID: m.ID, Title: m.Title, Permission: coleo.PermissionMode(m.Permission),
			DefaultModel: m.DefaultModel, Instructions: m.Instructions, TransitionsTo: m.TransitionsTo,
			Color: m.Color, Confirm: m.Confirm, Switchable: m.Cycle || m.Key != "" || m.Command != ""})
	}
	return out
}

// CommandFor returns the command that changes the model of a running agent CLI, or "" if there is
// none.
func (m *ModelRule) CommandFor(model string) (string, error) {
	if m.Command == "" {
		return "", nil
	}
	t, err := template.New("model").Option("missingkey=error").Parse(m.Command)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	err = t.Execute(&out, struct{ Model string }{model})
	return out.String(), err
}

// ShownModel returns the name of the new model if the picture shows that the model has changed, and
// "" otherwise.
func (s *Spec) ShownModel(p *Picture) string {
	if len(s.Model.Seen) == 0 {
		return ""
	}
	if ok, detail, _ := p.matchAll(s.Model.Seen); ok {
		return detail
	}
	return ""
}

// modes checks the modes, and the keys for changing the model.
func (c *compiler) modes(s *Spec) {
	c.atMost("mode", len(s.Modes), maxModes)
	c.keys("keys.mode", s.Keys.Mode)
	for i := range s.Modes {
		path := fmt.Sprintf("mode[%d]", i)
		c.mode(path, s, &s.Modes[i])
		if first := s.Mode(s.Modes[i].ID); first != &s.Modes[i] {
			c.fail(path+".id", "there are two modes %q", first.ID)
		}
	}
	if s.Capabilities.Modes && !slices.ContainsFunc(s.ModeList(), func(m coleo.Mode) bool { return m.Switchable }) {
		c.fail("capabilities.modes", "the capability modes needs [[mode]] with cycle, key or command")
	}
	c.regexp("model.pattern", s.Model.Pattern)
	if len(s.Model.Names) > 0 && s.Model.Pattern == "" {
		c.fail("model.names", "the key names needs pattern")
	}
	if s.Model.Command != "" {
		c.conds("model.when", "model.when", s.Model.When)
		c.conds("model.seen", "model.seen", s.Model.Seen)
		if _, err := s.Model.CommandFor("model"); err != nil {
			c.fail("model.command", "%v", err)
		}
	}
}

func (c *compiler) mode(path string, s *Spec, m *Mode) {
	if !modeIDs.MatchString(m.ID) {
		c.fail(path, "%q is not an id for a mode: use only letters, digits, dots, dashes and underscores", m.ID)
	}
	c.plain(path+".title", m.Title)
	c.keys(path+".key", m.Key)
	if len(m.When) > 0 {
		c.conds(path+".when", m.ID, m.When)
	} else if m.Instructions == "" || m.Cycle || m.Key != "" || m.Command != "" {
		c.fail(path, "mode %q needs when: what the screen shows in this mode", m.ID)
	}
	if m.Command != "" {
		c.conds(path+".command_when", m.ID, m.CommandWhen)
		c.plain(path+".command", m.Command)
	}
	if m.Cycle && s.Keys.Mode == "" {
		c.fail(path+".cycle", "mode %q: cycle needs keys.mode", m.ID)
	}
	if _, known := s.Launch.Permission[m.Permission]; m.Permission != "" && !known {
		c.fail(path+".permission", "mode %q: [launch.permission] has no %q", m.ID, m.Permission)
	}
	if m.Color != "" && !modeColors.MatchString(m.Color) {
		c.fail(path+".color", "mode %q: a colour is a name or #rrggbb, not %q", m.ID, m.Color)
	}
	for i, next := range m.TransitionsTo {
		if s.Mode(next) == nil {
			c.fail(fmt.Sprintf("%s.transitions_to[%d]", path, i), "mode %q: there is no mode %q", m.ID, next)
		}
	}
}
