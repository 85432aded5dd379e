package conformance

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// mutant is a harness or an agent CLI with one fault, which the suite must find.
type mutant struct {
	name   string
	breaks breaks   // faults of the sessions; nil means correct sessions
	anew   bool     // see brokenHarness
	edits  []string // edits of the harness's description; see fakeHarness
	window bool     // the sessions have windows
	// If `recorded` is true, the sessions also read the notes of the fake agent CLI, and report the work in them.
	recorded bool
	fails    []string // checks that must fail
	says     string   // text that the details of each failed check must contain; "|" separates alternatives
	passes   []string // checks that must pass in spite of the fault
	within   time.Duration
	later    bool // only a later turn shows the fault, so the checks that must pass come first
	// waits means that a failing check waits for its whole time limit. Such a mutant uses almost no
	// processor time.
	waits bool
}

// hangs is the time limit for checks that wait for ever because of a mutant's fault. Without the fault, such a check
// takes a tenth of this time. For a check that normally takes half of `hangs`, the limit is doubled.
const hangs = 5 * time.Second

// word returns the edit of the fake's description that starts the fake agent CLI with `--start` and the word.
func word(w string) []string { return []string{`["--workdir"`, `["--start", "` + w + `", "--workdir"`} }

// Each mutant must fail the checks that find its fault, and pass some others. With -short, three of four
// mutants skip the checks that they must pass.
func TestTheSuiteFindsEachMutant(t *testing.T) {
	needTmux(t)
	t.Parallel()
	limit := make(chan struct{}, mutantsAtOnce)
	var all sync.WaitGroup
	for i, m := range mutants() {
		if testing.Short() && i%4 != 0 && !m.later {
			m.passes = nil
		}
		made := fakeHarness
		if m.recorded {
			made = recordingFake
		}
		h := &brokenHarness{Harness: made(t, m.edits...), breaks: m.breaks, anew: m.anew}
		if m.window {
			h.Harness = inWindows{h.Harness}
		}
		c := fakeConfig(t)
		c.Log = nil
		all.Go(func() {
			if m.takesSlot() {
				limit <- struct{}{}
				defer func() { <-limit }()
			}
			m.judge(t, h, c)
		})
	}
	all.Wait()
}

// mutantsAtOnce is how many mutants that do not wait are tested at the same time.
const mutantsAtOnce = 6

// takesSlot reports whether a mutant counts for mutantsAtOnce. A mutant that waits does not count,
// because it uses almost no processor time.
func (m mutant) takesSlot() bool { return !m.waits && m.within == 0 }

// judge runs the named checks and compares their results with the expected ones.
func (m mutant) judge(t *testing.T, h *brokenHarness, c Config) {
	checks := pick(append(slices.Clone(m.passes), m.fails...))
	if m.within > 0 {
		for i := range checks {
			checks[i].Timeout = m.within
		}
	}
	defer h.resume()
	report, err := Run(t.Context(), h, c, checks)
	if err != nil {
		t.Errorf("%s: %v", m.name, err)
		return
	}
	for _, r := range report.Results {
		first, _, _ := strings.Cut(r.Details, "\n")
		t.Logf("%-36s %-22s %4.1f s  %.100s", m.name, r.Name, r.Seconds, first)
		switch must := slices.Contains(m.passes, r.Name); {
		case r.Skipped || r.Pass && !must:
			t.Errorf("%s: passes %s: %s", m.name, r.Name, r.Details)
		case must && !r.Pass:
			t.Errorf("%s: fails %s, which its fault should not touch: %s", m.name, r.Name, r.Details)
		case !must && !says(first, m.says):
			t.Errorf("%s: fails %s, but for want of %q: %s", m.name, r.Name, m.says, r.Details)
		}
	}
}

func says(text, want string) bool {
	return slices.ContainsFunc(strings.Split(want, "|"), func(w string) bool { return strings.Contains(text, w) })
}

// pick returns checks of the suite by their names.
func pick(names []string) []Check {
	var out []Check
	for _, c := range Checks() {
		if slices.Contains(names, c.Name) {
			out = append(out, c)
		}
	}
	return out
}

// Each check must fail for some mutant. A check that no mutant fails may be impossible to fail.
func TestEachCheckIsFailedByAMutant(t *testing.T) {
	t.Parallel()
	failed, names := map[string]bool{}, map[string]bool{}
	for _, m := range mutants() {
		if names[m.name] || len(m.fails) == 0 || m.says == "" {
			t.Errorf("mutant %q: its name is taken, or it fails nothing, or says nothing", m.name)
		}
		names[m.name] = true
		if got, want := len(pick(append(slices.Clone(m.passes), m.fails...))), len(m.passes)+len(m.fails); got != want {
			t.Errorf("mutant %q names %d checks, of which there are %d", m.name, want, got)
		}
		for _, name := range m.fails {
			failed[name] = true
		}
	}
	for _, c := range Checks() {
		if !failed[c.Name] {
			t.Errorf("no mutant fails %s", c.Name)
		}
	}
}
