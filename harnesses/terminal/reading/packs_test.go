package reading

import (
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/casttest"
	"coleo.dev/harnesses/terminal/rules"
	"coleo.dev/pty"
)

// packVersion is the version of the agent CLI for which these tests make their packs. A pack is a file with
// added reading rules.
const packVersion = "99.1"

// randomReadings returns random rules of a pack. Some of them match words of the given rows.
func randomReadings(rng *rand.Rand, rows []string) rules.Readings {
	words := strings.Fields(strings.Join(rows, " "))
	pattern := func() string {
		if n := rng.IntN(8); len(words) > 0 && n > 1 {
			return regexp.QuoteMeta(words[rng.IntN(len(words))])
		} else if n == 0 {
			return `(?s).*`
		}
		return `^\S`
	}
	regions := []string{"screen", "bottom 3", "cursor", "composer", "below composer", "above composer 2",
		"above cursor 2", "title"}
	conds := func() []rules.Cond {
		out := []rules.Cond{{Where: regions[rng.IntN(len(regions))], Pattern: pattern()}}
		out[0].Not = out[0].Where != "screen" && rng.IntN(4) == 0
		if rng.IntN(3) == 0 {
			out = append(out, rules.Cond{Where: "screen", Pattern: pattern()})
		}
		return out
	}
	states := []coleo.State{coleo.Idle, coleo.Idle, coleo.Processing, coleo.Executing, coleo.Failed}
	var out rules.Readings
	for i := range 1 + rng.IntN(4) {
		out.Rules = append(out.Rules, rules.Rule{Name: fmt.Sprint("r", i), When: conds(), Late: rng.IntN(5) == 0,
			State: string(states[rng.IntN(len(states))])})
	}
	for i := range rng.IntN(2) {
		out.Dialogs = append(out.Dialogs, rules.ReadDialog{Name: fmt.Sprint("d", i), When: conds(),
			Title: "(" + pattern() + ")", Subject: "above", Kind: "permission"})
	}
	if rng.IntN(3) == 0 {
		out.Composer = rules.ReadComposer{Bottom: "cursor", First: pattern()}
	}
	return out
}

// rank returns how cautious the combined verdict of the built-in rules and a pack is. A higher number is more
// cautious. From the most cautious, the order is: a dead program, a dialog, work, no state, an error, the
// rest.
func rank(counts, raised rules.Verdict) int {
	v := counts
	if raised.State != "" {
		v = raised
	}
	switch {
	case v.State == coleo.Dead:
		return 5
	case v.Dialog != nil || v.State == coleo.WaitingApproval:
		return 4
	case v.State.Working():
		return 3
	case v.State == "":
		return 2
	case v.State == coleo.Failed:
		return 1
	}
	return 0
}

// fewRecordings reports whether a test of packs replays a recording. It selects a tenth of the
// recordings, which contains all kinds of pictures.
func fewRecordings(name string) bool { return crc32.ChecksumIEEE([]byte(name))%10 == 0 }

func withReadings(t *testing.T, spec *rules.Spec, r rules.Readings) *rules.Spec {
	t.Helper()
	pack, err := r.Compile("pack", nil)
	if err != nil {
		t.Fatalf("%v: %+v", err, r)
	}
	pack.Versions = []string{packVersion}
	return spec.WithPack(pack)
}

// A pack adds reading rules to the built-in ones. The combined verdict must never be less cautious than the
// built-in verdict, with one exception. A pack that was made for the running version may decide about a
// picture that the built-in rules do not know. With -short, each recording meets only one of three versions, a
// random one.
func TestAPackNeverMakesAReadingLessCautious(t *testing.T) {
	t.Parallel()
	for _, name := range casttest.Names(t) {
		if !fewRecordings(name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cast, spec := casttest.Cast(t, name), specFor(t, name)
			seed := uint64(time.Now().UnixNano())
			rng := rand.New(rand.NewPCG(seed, 0))
			versions := []string{"", "98", packVersion}
			if testing.Short() {
				versions = []string{versions[rng.IntN(len(versions))]}
			}
			for _, version := range versions {
				readings := randomReadings(rng, lastRowsOf(cast))
				if !compareWithPack(t, noisy(rng, cast), spec, withReadings(t, spec, readings), version) {
					t.Fatalf("seed %d, version %q, pack %+v", seed, version, readings)
				}
			}
		})
	}
}

// noisy returns a recording with other pictures: some rows are erased or overwritten with words of
// the recording.
func noisy(rng *rand.Rand, cast *pty.Cast) *pty.Cast {
	words := strings.Fields(strings.Join(lastRowsOf(cast), " "))
	out := *cast
	out.Events = slices.Clone(cast.Events)
	for i := range out.Events {
		if e := &out.Events[i]; e.Kind == pty.CastOutput && rng.IntN(10) == 0 {
			e.Data += fmt.Sprintf("\x1b7\x1b[%d;1H\x1b[2K", 1+rng.IntN(cast.Rows))
			if len(words) > 0 && rng.IntN(2) == 0 {
				e.Data += words[rng.IntN(len(words))]
			}
			e.Data += "\x1b8"
		}
	}
	return &out
}

// lastRowsOf returns the rows of a recording's last picture.
func lastRowsOf(cast *pty.Cast) []string {
	core := pty.New(cast.Cols, cast.Rows)
	for _, e := range cast.Events {
		for b := []byte(e.Data); e.Kind == pty.CastOutput && len(b) > 0; {
			b = b[core.Feed(b):]
			core.Replies()
			core.Notices()
		}
	}
	return core.View().Lines
}

// compareWithPack replays a recording with and without a pack, and compares the readings after each
// chunk.
func compareWithPack(t *testing.T, cast *pty.Cast, spec, packed *rules.Spec, version string) bool {
	t.Helper()
	rec := Recording{Cast: cast, Until: -1, Version: version}
	emit := func(coleo.Change) {}
	plain, both := newPlayer(spec, rec, emit), newPlayer(packed, rec, emit)
	decides := version == packVersion
	for i, e := range cast.Events {
		now := recordingStart().Add(e.At)
		for _, p := range []*player{plain, both} {
			p.wait(now)
			p.feed(e, now)
		}
		own, counts, raised := plain.verdict, both.verdict, both.packed.raised
		switch {
		case own.Dialog != nil && (counts.Dialog == nil || counts.Dialog.Title != own.Dialog.Title):
			t.Errorf("event %d: the dialog %q of the built-in rules is lost", i, own.Dialog.Title)
		case own.Dialog == nil && counts.Dialog != nil:
			t.Errorf("event %d: the dialog %q of the pack can be answered", i, counts.Dialog.Title)
		case rank(counts, raised) < rank(own, rules.Verdict{}) && (own.State != "" || !decides):
			t.Errorf("event %d: %q and %q together, where the built-in rules read %q", i, counts.State, raised.State,
				own.State)
		case counts.State == coleo.Idle && own.State != coleo.Idle && (own.State != "" || !decides):
			t.Errorf("event %d: idle, where the built-in rules read %q", i, own.State)
		case !decides && both.reading.State == coleo.Idle && plain.reading.State != coleo.Idle:
			t.Errorf("event %d: the arm is idle, and without the pack it is %s", i, plain.reading.State)
		case !decides && own.State == "" && plain.reading.State == coleo.WaitingApproval &&
			both.reading.State != coleo.WaitingApproval:
			t.Errorf("event %d: the arm is %s, and without the pack it waits for an answer", i, both.reading.State)
		case raised.State != "" && counts.State != "":
			t.Errorf("event %d: %q counts although the pack reads %q", i, counts.State, raised.State)
		}
		if t.Failed() {
			return false
		}
	}
	return true
}

// stage is a Reader whose pictures the test draws.
type stage struct {
	*Reader
	now     time.Time
	changes []coleo.Change
}

const packSpec = "name = \"x\"\ncommand = \"x\"\nchecked = [\"1.0\"]\n[keys]\nsubmit = \"ENTER\"\n" +
	"[composer]\nbottom = '^---'\nfirst = '^> '\n" +
	"[[dialog]]\nname = \"ask\"\ntitle = 'Sure'\noptions = [\"Yes\"]\nselect = \"keys\"\napprove = \"ENTER\"\n" +
	"when = [{ where = \"screen\", pattern = \"Sure\" }]\n" +
	"[[rule]]\nname = \"busy\"\nstate = \"processing\"\nwhen = [{ where = \"screen\", pattern = \"busy\" }]\n" +
	"[[rule]]\nname = \"starts\"\nstate = \"initializing\"\nwhen = [{ where = \"screen\", pattern = \"starts\" }]\n" +
	"[[rule]]\nname = \"ready\"\nstate = \"idle\"\nwhen = [{ where = \"screen\", pattern = \"ready\" }]\n"

func newStage(t *testing.T, version string, readings rules.Readings) *stage {
	t.Helper()
	spec, err := rules.ParseSpec("x", []byte(packSpec))
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{now: recordingStart()}
	s.Reader = New(withReadings(t, spec, readings), 40, 6, s.now,
		func(c coleo.Change) { s.changes = append(s.changes, c) })
	s.SetVersion(version)
	return s
}

// shows draws a picture and keeps it for two seconds.
func (s *stage) shows(text string) coleo.Reading {
	s.Feed([]byte("\x1b[2J\x1b[H"+strings.ReplaceAll(text, "\n", "\r\n")), s.now)
	for range 8 {
		s.now = s.now.Add(250 * time.Millisecond)
		s.Look(s.now)
	}
	return s.Reading()
}

// showsBriefly draws a picture, and makes the Reader look at it after 50 ms. The state of a picture does not
// count that soon.
func (s *stage) showsBriefly(text string) coleo.Reading {
	s.Feed([]byte("\x1b[2J\x1b[H"+text), s.now)
	s.now = s.now.Add(50 * time.Millisecond)
	s.Look(s.now)
	return s.Reading()
}

// The built-in rules see a dialog, and a pack that was not made for the running version sees work in its
// place. The pack must not end the dialog. The dialog must end when the built-in rules have not seen it for
// some time.
func TestAPackDoesNotEndADialog(t *testing.T) {
	t.Parallel()
	s := newStage(t, "98", rules.Readings{Rules: []rules.Rule{sees("w", "processing", "thinking")}})
	for _, picture := range []struct {
		text  string
		brief bool
		want  coleo.State
	}{
		{"Sure", false, coleo.WaitingApproval}, {"thinking", false, coleo.WaitingApproval},
		{"ready thinking", true, coleo.WaitingApproval}, {"unknown", true, coleo.WaitingApproval},
		{"ready thinking", false, coleo.Processing}, {"unknown", false, coleo.Processing}, {"ready", false, coleo.Idle},
		{"Sure", false, coleo.WaitingApproval}, {"busy thinking", true, coleo.Processing},
	} {
		show := s.shows
		if picture.brief {
			show = s.showsBriefly
		}
		if r := show(picture.text); r.State != picture.want {
			t.Errorf("%q reads %s by rule %q, want %s", picture.text, r.State, r.Rule, picture.want)
		}
	}
}

func sees(name, state, word string) rules.Rule {
	return rules.Rule{Name: name, State: state, When: []rules.Cond{{Where: "screen", Pattern: word}}}
}

func TestWhatAPackCountsForDependsOnTheVersion(t *testing.T) {
	t.Parallel()
	readings := rules.Readings{Rules: []rules.Rule{sees("w", "processing", "thinking"), sees("i", "idle", "awaits|ready")}}
	for name, c := range map[string]struct {
		version, picture string
		state            coleo.State // "" for the first state: initializing
		known            bool
	}{
		"a judged version: the pack's idle counts":             {packVersion, "awaits", coleo.Idle, true},
		"a judged version: the pack's work counts":             {packVersion, "thinking", coleo.Processing, true},
		"another version: the pack's idle does not count":      {"98", "awaits", coleo.Initializing, false},
		"an unknown version: the pack's idle does not count":   {"", "awaits", coleo.Initializing, false},
		"a checked version: the pack's idle does not count":    {"1.0", "awaits", coleo.Initializing, false},
		"another version: work is shown, and nothing is typed": {"98", "thinking", coleo.Processing, false},
		"the pack makes idle work":                             {"1.0", "ready thinking", coleo.Processing, false},
		"the pack does not make work idle":                     {packVersion, "busy awaits", coleo.Processing, true},
		"another version: the pack does not end a start":       {"98", "starts awaits", coleo.Initializing, true},
		"a judged version: the pack does not end a start":      {packVersion, "starts awaits", coleo.Initializing, true},
		"the pack sees work during a start":                    {"98", "starts thinking", coleo.Processing, false},
		"both say idle":                                        {packVersion, "ready", coleo.Idle, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newStage(t, c.version, readings).shows(c.picture)
			if r.State != c.state || r.Known != c.known {
				t.Errorf("it reads %s by rule %q, known %v; want %s, %v", r.State, r.Rule, r.Known, c.state, c.known)
			}
		})
	}
}

func TestIdleNeedsBothWhereThePackWasJudged(t *testing.T) {
	t.Parallel()
	readings := rules.Readings{Rules: []rules.Rule{sees("i", "idle", "awaits")}}
	for version, want := range map[string]coleo.State{packVersion: coleo.Initializing, "98": coleo.Idle} {
		s := newStage(t, version, readings)
		if r := s.shows("ready"); r.State != want {
			t.Errorf("version %s reads %s by rule %q, want %s", version, r.State, r.Rule, want)
		}
		for range 50 {
			s.shows("ready")
		}
		last := s.changes[len(s.changes)-1]
		if noted := strings.Contains(last.Note, "do not read this screen alike"); noted != (want != coleo.Idle) {
			t.Errorf("version %s tells %+v at last", version, last)
		}
	}
}

func TestAPacksDialogIsReportedAndIsStrange(t *testing.T) {
	t.Parallel()
	s := newStage(t, packVersion, rules.Readings{Dialogs: []rules.ReadDialog{{Name: "d", Kind: "permission",
		Title: `^(Run it\?)`, Subject: "above", Option: `^(?P<number>\d)\. (?P<label>.*)`,
		When: []rules.Cond{{Where: "screen", Pattern: "Run it"}}}}})
	r := s.shows("ready\nrm all\nRun it?\n1. Yes\n2. No")
	d := s.Strange()
	if r.State != coleo.WaitingApproval || r.Known || d == nil || d.Title != "Run it?" || d.Subject != "rm all" ||
		len(d.Options) != 2 || s.Verdict().Dialog != nil {
		t.Fatalf("it reads %+v, strange dialog %+v, verdict %+v", r, d, s.Verdict())
	}
	if s.shows("ready"); s.Strange() != nil || s.Reading().State != coleo.Idle {
		t.Errorf("the dialog is gone, and it reads %+v", s.Reading())
	}
	if s.shows("ready\nrm all\nRun it?\n1. Yes\n2. No"); s.Strange() == nil ||
		s.Strange().Fingerprint == d.Fingerprint {
		t.Errorf("a second appearance is %+v, the first was %+v", s.Strange(), d)
	}
}

func TestAVersionThatNobodyJudgedIsReported(t *testing.T) {
	t.Parallel()
	readings := rules.Readings{Rules: []rules.Rule{sees("i", "idle", "awaits")}}
	for version, want := range map[string]string{"": "", "1.0": "", packVersion: "", "98": "98"} {
		if got := newStage(t, version, readings).Unjudged(); got != want {
			t.Errorf("with version %q, the version that nobody judged is %q, want %q", version, got, want)
		}
	}
}

// A pack adds reading rules. A composer that only the pack finds must count if the pack was made for the
// running version. Otherwise it must not count.
func TestThePacksComposerCountsOnAJudgedVersion(t *testing.T) {
	t.Parallel()
	readings := rules.Readings{Composer: rules.ReadComposer{Bottom: "^===", First: "^%"},
		Rules: []rules.Rule{{Name: "i", State: "idle", When: []rules.Cond{{Where: "below composer", Pattern: "==="}}}}}
	for version, want := range map[string]bool{packVersion: true, "98": false} {
		s := newStage(t, version, readings)
		if s.shows("% \n===\n"); (s.Picture().Composer != nil) != want {
			t.Errorf("version %s: a composer is seen: %v, want %v", version, !want, want)
		}
	}
}
