package rules

import (
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"

	"coleo.dev"
	"coleo.dev/config"
	"coleo.dev/printable"
)

// These constants limit a harness.toml. Each limit is several times the value in any built-in
// harness.toml. A larger value is a mistake, and would slow down each check of a screen against the
// rules.
const (
	maxSpec     = 256 << 10 // size of the file in bytes
	maxRules    = 100       // number of rules, and also of dialogs
	maxSettings = 60        // number of [[setting]] tables
	maxAsks     = 60        // number of [[asks]] tables
	maxConds    = 16        // number of conditions of a rule or dialog
	maxPattern  = 1000      // length of a pattern in bytes
	maxProgram  = 2000      // number of compiled steps of a pattern; each step can run at each character
	maxLineText = 200       // number of characters of a name or of another one-line text
	maxTime     = 600_000   // a time in ms; no agent CLI takes that long for anything
)

// names matches the valid names of a harness. Such a name needs no quotes on a command line, in a
// file name or in a URL.
var names = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)

// ParseSpec parses a harness.toml that names no base. Its errors are EInvalid, and name the file and
// the line.
func ParseSpec(file string, data []byte) (*Spec, error) { return ParseSpecOn(file, data, nil) }

// ParseSpecOn parses a harness.toml that may name a base, which is a built-in harness. The function
// `bases` returns the harness.toml of a base, or nil if there is no base with that name. The errors of
// ParseSpecOn are EInvalid, and name the file and the line.
//
// Keys of the file replace those of the base. Rules, dialogs, limits, modes and asks of the file come
// before those of the base, and replace those with the same name. Any other list of the file replaces
// the whole list of the base.
func ParseSpecOn(file string, data []byte, bases func(name string) []byte) (*Spec, error) {
	if len(data) > maxSpec {
		return nil, coleo.Errorf(coleo.EInvalid, "%s:1: the file has %d bytes, more than %d", file, len(data), maxSpec)
	}
	s := &Spec{Timing: defaultTiming()}
	under, err := s.layBase(file, data, bases)
	if err != nil {
		return nil, err
	}
	if err := config.Decode(file, data, s); err != nil {
		return nil, err
	}
	s.inherit(under)
	c := compiler{file: file, data: data}
	c.checkHead(s)
	c.launch(s.Launch)
	c.settings(s.Settings)
	c.checkAsks(s.Asks)
	c.work(s.Work)
	c.support(s)
	if s.Transport != string(coleo.TransportHTTP) {
		c.screen(s)
	}
	return s, c.err
}

// screen checks the keys that only an agent CLI with a screen can have.
func (c *compiler) screen(s *Spec) {
	c.timing(s.Timing)
	c.required("keys.submit", s.Keys.Submit)
	c.keys("keys.submit", s.Keys.Submit)
	c.keys("keys.queue", s.Keys.Queue)
	c.keys("keys.interrupt", s.Keys.Interrupt)
	c.keys("keys.clear", s.Keys.Clear)
	c.keys("keys.leave", s.Keys.Leave)
	c.atMost("rule", len(s.Rules), maxRules)
	c.atMost("dialog", len(s.Dialogs), maxRules)
	for i := range s.Rules {
		c.rule(fmt.Sprintf("rule[%d]", i), &s.Rules[i])
	}
	for i := range s.Dialogs {
		c.dialog(fmt.Sprintf("dialog[%d]", i), &s.Dialogs[i])
	}
	if s.Capabilities.Compact {
		c.conds("compact_when", "compact_when", s.CompactWhen)
	}
	if len(s.Ready) > 0 {
		c.conds("ready", "ready", s.Ready)
	}
	if len(s.ForkReady) > 0 {
		c.conds("fork_ready", "fork_ready", s.ForkReady)
	}
	if len(s.InterruptWhen) > 0 {
		c.conds("interrupt_when", "interrupt_when", s.InterruptWhen)
	}
	c.modes(s)
	c.limits(s)
	s.background = c.regexp("background", s.Background)
	s.noConversation = c.regexp("launch.no_conversation", s.Launch.NoConversation)
	c.hook(&s.Hook)
	c.policy(&s.Policy)
	c.composer(&s.Composer)
	c.regexps("answer.", map[string]pattern{"begin": {s.Answer.Begin, &s.Answer.begin},
		"end": {s.Answer.End, &s.Answer.end}, "strip": {s.Answer.Strip, &s.Answer.strip}})
	c.transcript(&s.Transcript)
}

// compiler checks a Spec and keeps the first error. In its methods, `path` is the path of a key, such
// as "rule[2].when": see config.Line.
type compiler struct {
	file string
	data []byte
	err  error

	counted   bool // true if all further patterns together may have only stepsLeft steps
	stepsLeft int
}

func (c *compiler) fail(path, format string, args ...any) {
	if c.err == nil {
		c.err = config.Errorf(c.file, c.data, path, format, args...)
	}
}

// checkHead checks the keys that describe the whole harness, and sets their defaults.
func (c *compiler) checkHead(s *Spec) {
	if s.Transport == "" {
		s.Transport = string(coleo.TransportPTY)
	}
	c.required("name", s.Name)
	c.required("command", s.Command)
	if s.Name != "" && !names.MatchString(s.Name) {
		c.fail("name", "%q is not a name for a harness: use only small letters, digits, dots and dashes", s.Name)
	}
	c.plain("title", s.Title)
	c.plain("version", s.Version)
	c.plain("command", s.Command)
	c.plain("install", s.Install)
	if s.Redraw != "" && !slices.Contains(redraws, s.Redraw) {
		c.fail("redraw", "redraw must be one of %s, not %q", printable.List(redraws), s.Redraw)
	}
	if s.Capabilities.Redraw && s.Redraw == "" {
		c.fail("capabilities.redraw", "the capability redraw needs the key redraw: what makes it draw again")
	}
	if manager, name, ok := strings.Cut(s.Package, ":"); s.Package != "" &&
		(!ok || name == "" || manager != "npm" && manager != "pip") {
		c.fail("package", "package: %q is neither npm:NAME nor pip:NAME", s.Package)
	}
}

// timing checks that each time is between 0 and maxTime.
func (c *compiler) timing(t Timing) {
	times := map[string]Milliseconds{
		"settle_ms": t.Settle, "begin_ms": t.Begin, "paste_gap_ms": t.PasteGap, "key_gap_ms": t.KeyGap,
		"dialog_gap_ms": t.DialogGap,
		"start_ms":      t.Start, "unknown_ms": t.Unknown, "interrupted_ms": t.Interrupted,
		"interrupt_gap_ms": t.InterruptGap,
	}
	for _, key := range slices.Sorted(maps.Keys(times)) {
		if n := times[key]; n < 0 || n > maxTime {
			c.fail("timing."+key, "timing.%s = %d is not between 0 and %d", key, n, maxTime)
		}
	}
}

// plain checks that a text is one line of limited length. The text must not contain control characters,
// because a terminal would execute them.
func (c *compiler) plain(path, text string) {
	if len([]rune(text)) > maxLineText || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		c.fail(path, "%s is %.*q: it must be at most %d characters that can be printed", path, maxLineText, text,
			maxLineText)
	}
}

// atMost checks that a list of n elements is not too long. Its error names the line of the first
// element that is too many.
func (c *compiler) atMost(path string, n, most int) {
	if n > most {
		c.fail(fmt.Sprintf("%s[%d]", path, most), "there are %d of %s, more than %d", n, path, most)
	}
}

func (c *compiler) required(path, value string) {
	if value == "" {
		c.fail(path, "%s is missing", path)
	}
}

// pattern is the text of a regular expression, and the variable for its compiled form.
type pattern struct {
	text string
	to   **regexp.Regexp
}

// regexps compiles the patterns of one TOML table. The parameter `table` is the path of that table,
// with a dot at its end. The keys of the map `list` are the keys in that table.
func (c *compiler) regexps(table string, list map[string]pattern) {
	for _, key := range slices.Sorted(maps.Keys(list)) {
		*list[key].to = c.regexp(table+key, list[key].text)
	}
}

func (c *compiler) regexp(path, pattern string) *regexp.Regexp {
	switch {
	case pattern == "":
		return nil
	case c.counted && c.stepsLeft < 0:
		return nil // the earlier patterns together have too many steps already
	case len(pattern) > maxPattern:
		c.fail(path, "%s: a pattern of %d bytes is longer than %d", path, len(pattern), maxPattern)
		return nil
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		c.fail(path, "%s: %v", path, err)
		return nil
	}
	n := countSteps(pattern)
	if n > maxProgram {
		c.fail(path, "%s: the pattern is slow: it comes to %d steps, more than %d, because of what it repeats", path, n,
			maxProgram)
	}
	if c.stepsLeft -= n; c.counted && c.stepsLeft < 0 {
		c.fail(path, "%s: the patterns up to here are slow: they come to more than %d steps together", path, maxAllSteps)
	}
	return re
}

// countSteps returns the number of instructions of a compiled pattern.
func countSteps(pattern string) int {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return 0
	}
	return len(program.Inst)
}

func (c *compiler) keys(path, names string) {
	if _, err := KeySequence(names); err != nil {
		c.fail(path, "%v", err)
	}
}

func (c *compiler) conds(path, name string, list []Cond) {
	if len(list) == 0 {
		c.fail(path, "%q needs at least one condition", name)
	}
	c.atMost(path, len(list), maxConds)
	for i := range list {
		at := fmt.Sprintf("%s[%d]", path, i)
		where, err := parseRegion(list[i].Where)
		if err != nil {
			c.fail(at+".where", "%q: %v", name, err)
		}
		if list[i].Not && where.isWhole() {
			c.fail(at, "%q: a condition with not = true may not cover %q, because a model can write there: use a "+
				"smaller part, of at most %d rows", name, list[i].Where, mostRowsNot)
		}
		list[i].where, list[i].pattern = where, c.regexp(at+".pattern", list[i].Pattern)
		list[i].needs = needsOf(list[i].Pattern)
		if list[i].pattern == nil {
			c.fail(at, "%q: a condition needs a pattern", name)
		}
		if colour := list[i].Colour; colour != "" && !slices.Contains(colours, colour) {
			c.fail(at+".colour", "%q: a colour is one of %s, not %q", name, printable.List(colours), colour)
		}
	}
}

func (c *compiler) rule(path string, r *Rule) {
	if r.Name == "" {
		c.fail(path, "a rule needs a name")
	}
	c.plain(path+".name", r.Name)
	if r.State == "" {
		c.fail(path, "rule %q needs a state; states are %s", r.Name, printable.List(coleo.States()))
	} else if !coleo.State(r.State).Valid() {
		c.fail(path+".state", "rule %q: %q is not a state; states are %s", r.Name, r.State,
			printable.List(coleo.States()))
	}
	c.conds(path+".when", r.Name, r.When)
}

// work checks the table [work], which describes the events of the harness's runs.
func (c *compiler) work(w coleo.ReportedWork) {
	if (w.SubagentTool == "") != (w.SubagentInput == "") {
		c.fail("work", "[work] needs both subagent_tool and subagent_input, or neither")
	}
	if w.SubagentInput != "" && !strings.Contains(w.SubagentInput, "{{.Task}}") {
		c.fail("work.subagent_input", "work.subagent_input needs {{.Task}} in the place of the subagent's task")
	}
	if !plainWords.MatchString(w.Uncounted) {
		c.fail("work.uncounted", "work.uncounted must be a few words: letters, spaces and commas, at most 80")
	}
}

func (c *compiler) sandbox(s *SandboxFiles) {
	for _, kind := range s.Judged {
		if box := (coleo.Sandbox{Kind: kind}); !box.On() || box.Check() != nil {
			c.fail("launch.sandbox.judged", "launch.sandbox.judged: %q is not a kind of sandbox", kind)
		}
	}
	for key, list := range map[string][]string{"writable": s.Writable, "readable": s.Readable} {
		for _, path := range list {
			if !filepath.IsLocal(path) || filepath.Clean(path) == "." {
				c.fail("launch.sandbox."+key, "launch.sandbox.%s: %q is not below HOME", key, path)
			}
		}
	}
}

// environName matches the name of an environment variable.
var environName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// network checks the keys about the model servers of a sandboxed agent CLI.
func (c *compiler) network(l Launch) {
	for _, text := range l.ModelHosts {
		if _, _, err := coleo.ParseServer(text); err != nil {
			c.fail("launch.model_hosts", "launch.model_hosts: %v", err)
		}
	}
	for _, name := range l.EndpointEnv {
		if !environName.MatchString(name) {
			c.fail("launch.endpoint_env", "launch.endpoint_env: %q is not the name of an environment variable", name)
		}
	}
}

// ownFiles checks the patterns for the files that the agent CLI writes for itself.
func (c *compiler) ownFiles(patterns []string) {
	for _, text := range patterns {
		if _, err := path.Match(text, ""); err != nil || strings.Trim(text, "*?") == "" || strings.Contains(text, "/") {
			c.fail("launch.own_files", "launch.own_files: %q is not a pattern for one name, such as .mine.history*", text)
		}
	}
}
