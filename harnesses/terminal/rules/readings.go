package rules

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"coleo.dev"
	"coleo.dev/printable"
)

// maxAllSteps is the largest number of compiled steps that all patterns of Readings may have together.
// It is several times the number in any built-in harness.toml.
const maxAllSteps = 100_000

// maxFixedOptions is the largest number of labels in the key `options` of a dialog in a pack. Real
// dialogs have only a few.
const maxFixedOptions = 20

// Readings are the content of a pack: a composer, rules and dialogs that only read the screen. They
// contain no keystrokes and nothing else that Coleo types, starts or sends. A TOML key that only a
// harness.toml may have is an error in a pack.
type Readings struct {
	Composer ReadComposer `toml:"composer"`
	Rules    []Rule       `toml:"rule"`
	Dialogs  []ReadDialog `toml:"dialog"`
}

// ReadComposer contains the keys of Composer that describe where the composer is and what it shows,
// but not the keys that decide what Coleo types.
type ReadComposer struct {
	Bottom patternText `toml:"bottom"`
	Leaves bool        `toml:"leaves"`
	Top    patternText `toml:"top"`
	Row    patternText `toml:"row"`
	First  patternText `toml:"first"`
	Head   patternText `toml:"head"`
	Tall   bool        `toml:"tall"`
	Strip  patternText `toml:"strip"`
	Side   patternText `toml:"side"`
	Drop   int         `toml:"drop"`
	Empty  patternText `toml:"empty"`
	Mode   string      `toml:"mode"`
	Cursor string      `toml:"cursor"`
	Open   bool        `toml:"open"`
}

// ReadDialog contains the keys of DialogRule for recognizing and reading a dialog, but not the keys
// for answering it.
type ReadDialog struct {
	Name         string      `toml:"name"`
	Kind         string      `toml:"kind"`
	When         []Cond      `toml:"when"`
	Strip        patternText `toml:"strip"`
	Title        patternText `toml:"title"`
	Block        bool        `toml:"block"`
	Heading      bool        `toml:"heading"`
	Top          patternText `toml:"top"`
	Subject      string      `toml:"subject"`
	Option       patternText `toml:"option"`
	Unnumbered   patternText `toml:"unnumbered"`
	Options      []string    `toml:"options"`
	Choice       patternText `toml:"choice"`
	End          patternText `toml:"end"`
	State        patternText `toml:"state"`
	TypedSubject bool        `toml:"typed_subject"`
	Text         patternText `toml:"text"`
	Tabs         patternText `toml:"tabs"`
	Tab          patternText `toml:"tab"`
	Chosen       patternText `toml:"chosen"`
	Default      int         `toml:"default"`
	Mark         string      `toml:"mark"`
	Cut          []Cond      `toml:"cut"`
	Draft        []Cond      `toml:"draft"`
	Gutter       patternText `toml:"gutter"`
}

// Pack contains Readings in checked and compiled form. It also contains the versions of the agent CLI
// on which somebody judged the Readings.
type Pack struct {
	Serial   int64
	Versions []string

	spec      Spec // the rules and the dialogs; no dialog has an answer
	composes  bool // true if the pack describes the composer
	knowsIdle bool // true if a rule of the pack has the state idle
}

// Compile checks and compiles Readings. The parameter `data` is the TOML text of the Readings. The
// errors are EInvalid, and name the file and the line.
func (r Readings) Compile(file string, data []byte) (*Pack, error) {
	c := compiler{file: file, data: data, stepsLeft: maxAllSteps, counted: true}
	p := &Pack{composes: r.Composer != ReadComposer{}}
	c.atMost("rule", len(r.Rules), maxRules)
	c.atMost("dialog", len(r.Dialogs), maxRules)
	if c.err != nil {
		return nil, c.err
	}
	if len(r.Rules)+len(r.Dialogs) == 0 {
		c.fail("", "there is neither a rule nor a dialog")
	}
	p.spec.Rules = slices.Clone(r.Rules)
	for i := range p.spec.Rules {
		rule := &p.spec.Rules[i]
		rule.When = slices.Clone(rule.When)
		c.readRule(fmt.Sprintf("rule[%d]", i), rule)
		p.knowsIdle = p.knowsIdle || coleo.State(rule.State) == coleo.Idle
	}
	for i, d := range r.Dialogs {
		p.spec.Dialogs = append(p.spec.Dialogs, c.readDialog(fmt.Sprintf("dialog[%d]", i), d))
	}
	if p.composes {
		copySameFields(&p.spec.Composer, r.Composer)
		c.composer(&p.spec.Composer)
		c.readComposer(&p.spec.Composer)
	}
	return p, c.err
}

// readRule checks a rule of Readings. The rule's state must be one of the four states of a turn: idle,
// processing, executing or error. The states waiting_approval and dead are not allowed because they
// would outrank every state that the screen shows.
func (c *compiler) readRule(path string, r *Rule) {
	c.rule(path, r)
	allowed := []coleo.State{coleo.Idle, coleo.Processing, coleo.Executing, coleo.Failed}
	if !slices.Contains(allowed, coleo.State(r.State)) {
		c.fail(path+".state", "rule %q: the state must be one of %s, not %q", r.Name,
			printable.List(allowed), r.State)
	}
	r.Name = packName(r.Name)
}

// readDialog checks a dialog of Readings and returns it as a DialogRule without answers.
func (c *compiler) readDialog(path string, r ReadDialog) DialogRule {
	var d DialogRule
	copySameFields(&d, r)
	d.When, d.Cut, d.Draft = slices.Clone(r.When), slices.Clone(r.Cut), slices.Clone(r.Draft)
	if r.Name == "" {
		c.fail(path, "a dialog needs a name")
	}
	if !slices.Contains([]string{"", "above", "below"}, r.Subject) {
		c.fail(path+".subject", "dialog %q: subject must be above or below, not %q", r.Name, r.Subject)
	}
	c.atMost(path+".options", len(r.Options), maxFixedOptions)
	for i, label := range r.Options {
		c.plain(fmt.Sprintf("%s.options[%d]", path, i), label)
	}
	if r.Default < -1 || r.Default > maxFixedOptions {
		c.fail(path+".default", "dialog %q: default = %d is not between -1 and %d", r.Name, r.Default, maxFixedOptions)
	}
	c.readsDialog(path, &d)
	d.Name = packName(r.Name)
	return d
}

// readComposer checks the keys `drop` and `mode` of a pack's composer. In a harness.toml, these keys
// can have any value.
func (c *compiler) readComposer(b *Composer) {
	if b.Drop < 0 || b.Drop > maxConds {
		c.fail("composer.drop", "composer.drop = %d is not between 0 and %d", b.Drop, maxConds)
	}
	if b.Mode != "" && b.Mode != pasteMode {
		c.fail("composer.mode", "composer.mode must be %s, not %q", pasteMode, b.Mode)
	}
}

// packName returns the name under which Coleo shows a rule of a pack. It differs from the names of
// all built-in rules.
func packName(name string) string { return "pack: " + name }

// copySameFields copies each field of the second argument to the field with the same name in the
// first argument. The second argument is a struct, and the first is a pointer to a struct.
func copySameFields(to, from any) {
	target, source := reflect.ValueOf(to).Elem(), reflect.ValueOf(from)
	for i := range source.NumField() {
		target.FieldByName(source.Type().Field(i).Name).Set(source.Field(i))
	}
}

// WithPack returns a copy of the Spec with a pack. The Spec's own rules do not change. Even if the
// pack describes the composer, the Spec's own keys decide what Coleo types. If p is nil, the copy
// has no pack.
func (s *Spec) WithPack(p *Pack) *Spec {
	out := *s
	out.pack = p
	if p == nil {
		return &out
	}
	joined := *p
	out.pack = &joined
	if p.composes {
		own, theirs := s.Composer, p.spec.Composer
		theirs.Held, theirs.held, theirs.Tab, theirs.TabGarbles = own.Held, own.held, own.Tab, own.TabGarbles
		theirs.Refuse, theirs.refuse, theirs.Never, theirs.never = own.Refuse, own.refuse, own.Never, own.never
		theirs.Lead, theirs.Trap, theirs.trap, theirs.Breaks = own.Lead, own.Trap, own.trap, own.Breaks
		joined.spec.Composer = theirs
	}
	return &out
}

// Pack returns the pack of the Spec, or nil if it has none.
func (s *Spec) Pack() *Pack { return s.pack }

// Judged reports whether the Spec or its pack was judged on this version of the agent CLI.
func (s *Spec) Judged(version string) bool {
	return slices.Contains(s.Checked, version) || s.pack != nil && s.pack.Judged(version)
}

// Picture returns the picture of a screen to which Pack.Read is applied. If the pack describes a
// composer, the picture has that composer. Otherwise Picture returns `own`, the picture with the Spec's
// own composer.
func (p *Pack) Picture(own *Picture, s coleo.Screen) *Picture {
	if !p.composes {
		return own
	}
	return NewPicture(s, &p.spec.Composer)
}

// Read applies the dialogs and the rules of the pack to a picture from Pack.Picture. If the dialog's
// field Default is not the index of an option, the marked option is unknown, and Read sets the field
// to -1.
func (p *Pack) Read(picture *Picture) Verdict {
	v := p.spec.Read(picture)
	if v.Dialog != nil && v.Dialog.Default >= len(v.Dialog.Options) {
		v.Dialog.Default = -1
	}
	return v
}

// Judged reports whether the pack was judged on this version of the agent CLI.
func (p *Pack) Judged(version string) bool {
	return version != "" && slices.Contains(p.Versions, version)
}

// KnowsIdle reports whether a rule of the pack has the state idle.
func (p *Pack) KnowsIdle() bool { return p.knowsIdle }

// maxLimits is the largest number of limits in a Spec: enough for a few wordings of each kind.
const maxLimits = 30

// LimitRule describes how an agent CLI words one limit of its model.
type LimitRule struct {
	// The kind of the limit. `rate` means too many requests. `quota` means that the plan is used
	// up. `overload` means that the servers are busy. `network` means that the servers cannot be
	// reached. `login` means that the login or the key is not accepted. `context` means that the
	// conversation is too long. The key is required.
	Kind string `toml:"kind"`
	// The regular expression that finds the limit in the error, such as `429`. Coleo joins
	// the lines of the error with blanks. The key is required.
	Pattern patternText `toml:"pattern"`

	pattern *regexp.Regexp
}

// limits checks the limits of a Spec.
func (c *compiler) limits(s *Spec) {
	c.atMost("limit", len(s.Limits), maxLimits)
	for i := range s.Limits {
		l, path := &s.Limits[i], fmt.Sprintf("limit[%d]", i)
		if !slices.Contains(coleo.LimitKinds(), coleo.LimitKind(l.Kind)) {
			c.fail(path, "a limit needs a kind, one of %s, not %q",
				printable.List(coleo.LimitKinds()), l.Kind)
		}
		if l.pattern = c.regexp(path+".pattern", l.Pattern); l.pattern == nil {
			c.fail(path, "the limit %q needs a pattern", l.Kind)
		}
	}
	s.limitBegin = c.regexp("limit_begin", s.LimitBegin)
	if s.LimitWhere == "" {
		if s.LimitBegin != "" {
			c.fail("limit_begin", "limit_begin needs limit_where")
		}
		return
	}
	where, err := parseRegion(s.LimitWhere)
	if err != nil {
		c.fail("limit_where", "limit_where: %v", err)
	}
	s.limitWhere = where
}

// LimitIn returns the kind of limit that caused an error, or false if the error names no limit. The
// parameter `text` is the error in one line.
func (s *Spec) LimitIn(text string) (coleo.LimitKind, bool) {
	for _, l := range s.Limits {
		if l.pattern.MatchString(text) {
			return coleo.LimitKind(l.Kind), true
		}
	}
	return "", false
}

// ErrorOn returns the error of a turn that a picture shows, in one line. It returns "" if the Spec does
// not describe where the screen shows errors.
func (s *Spec) ErrorOn(p *Picture) string {
	if s.LimitWhere == "" {
		return ""
	}
	rows, _ := p.region(s.limitWhere)
	for i := len(rows) - 1; i >= 0 && s.limitBegin != nil; i-- {
		if s.limitBegin.MatchString(rows[i]) {
			rows = rows[i:]
			break
		}
	}
	return strings.Join(strings.Fields(strings.Join(rows, " ")), " ")
}
