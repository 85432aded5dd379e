package mend

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/rules"
)

// Options limit a search.
type Options struct {
	Seed int64         // selects the pictures on which changes are tried first
	Time time.Duration // how long the search may take; 0 means DefaultTime
}

// DefaultTime is how long Propose searches by default. A search has several rounds. On a slow machine,
// one round with two hundred recordings takes about half a minute.
const DefaultTime = 5 * time.Minute

// These are the limits of a search.
const (
	mostSteps    = 4   // steps of one proposal; if more are needed, the agent CLI has changed too much to be mended
	mostGroups   = 4   // groups of wrongly read pictures in one round
	mostTried    = 160 // changes of one kind that are tried on pictures, for each group of wrongly read pictures
	mostReplayed = 12  // changes that are tried on recordings, for each group of wrongly read pictures
	mostSample   = 5   // wrongly read recordings on which a change is tried before all others
	mostShots    = 12  // pictures of a group that are used for the search
	mostGood     = 120 // pictures that are already read as labelled, and must stay so
	mostNearest  = 5   // failed changes that a Result names
)

// Result is the result of Propose.
type Result struct {
	Held     []string  // the new recordings that read as labelled
	Breaks   []Break   // the periods in which other new recordings do not read as labelled
	Changes  []string  // the proposed changes, in words; empty without a proposal
	Text     []byte    // the file with the changes; nil without a proposal
	Nearest  []Attempt // the best changes that failed; only without a proposal
	Tried    int       // how many changes were tried
	TimedOut bool
}

// Attempt is a change that was tried and failed.
type Attempt struct {
	Change string `json:"change"`
	Why    string `json:"why"`
}

// search holds the state of one call of Propose.
type search struct {
	desc    Description
	fresh   []Case // the new recordings
	old     []Case
	until   time.Time
	random  *rand.Rand
	result  Result
	nearest []Attempt // the changes that failed on recordings, in the order of the rounds
}

// Propose reads the new recordings with a description. If some of them do not read as labelled, Propose
// searches for the smallest change after which all of them read as labelled. Every old recording that
// read as labelled before must also read as labelled after the change.
//
// The error is EInvalid if the description or a label cannot be read. If the search ends before the
// time is over, the result depends only on the arguments.
func Propose(desc Description, fresh, old []Case, o Options) (Result, error) {
	if o.Time == 0 {
		o.Time = DefaultTime
	}
	s := &search{desc: desc, fresh: fresh, old: old, until: time.Now().Add(o.Time),
		random: rand.New(rand.NewPCG(uint64(o.Seed), 1))}
	spec, err := desc.spec()
	if err != nil {
		return Result{}, err
	}
	all, err := s.tapes(spec)
	if err != nil {
		return Result{}, err
	}
	for i := range all[:len(fresh)] {
		if t := &all[i]; t.readsAsLabelled() {
			s.result.Held = append(s.result.Held, t.Name)
		} else {
			s.result.Breaks = append(s.result.Breaks, t.breaks()...)
		}
	}
	if len(s.result.Breaks) > 0 {
		s.run(spec, all)
	}
	return s.result, nil
}

// tapes reads all cases. The new cases come first.
func (s *search) tapes(spec *rules.Spec) ([]caseReading, error) {
	var out []caseReading
	for _, c := range append(slices.Clone(s.fresh), s.old...) {
		t, err := readCase(spec, c)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

// run changes the description step by step, until all new recordings read as labelled.
func (s *search) run(spec *rules.Spec, all []caseReading) {
	first := all
	desc := s.desc
	var changes []string
	for range mostSteps {
		best, fixed := s.bestChange(desc, spec, all)
		if best == nil {
			break
		}
		desc.Text = []byte(best.text)
		changes = append(changes, best.what)
		var err error
		if spec, err = desc.spec(); err != nil {
			break
		}
		if countBroken(fixed[:len(s.fresh)]) == 0 {
			if all, err = s.tapes(spec); err == nil && countBroken(all[:len(s.fresh)]) == 0 && s.isNoWorse(first, all) {
				s.result.Changes, s.result.Text = changes, desc.Text
			}
			break
		}
		for i := range fixed {
			fixed[i] = fixed[i].reread(spec)
		}
		all = fixed
	}
	if s.result.Text == nil {
		s.result.Nearest = s.bestAttempts()
	}
}

func countBroken(all []caseReading) int {
	n := 0
	for i := range all {
		if !all[i].readsAsLabelled() {
			n++
		}
	}
	return n
}

// isNoWorse reports whether no recording reads worse after the changes than before them.
func (s *search) isNoWorse(before, after []caseReading) bool {
	for i := range before {
		if whatGotWorse(&before[i], &after[i]) != "" {
			return false
		}
	}
	return true
}

// whatGotWorse describes how a recording reads worse after a change, or returns "" if it does not.
func whatGotWorse(before, after *caseReading) string {
	switch a, b := falseIdle(before), falseIdle(after); {
	case before.readsAsLabelled() && !after.readsAsLabelled():
		return fmt.Sprintf("%s would no longer match its labels", after.Name)
	case b > a+rounding:
		return fmt.Sprintf("%s would be read as idle for %.2f s where its label is not idle", after.Name, b-a)
	}
	return ""
}

// falseIdle returns the number of seconds in which a recording reads as idle although its label has
// another state.
func falseIdle(t *caseReading) float64 {
	sum, end := 0.0, endOfCast(t.Cast)
	for _, d := range differences(t.want, t.got, t.Slack) {
		if d.got.state == coleo.Idle && d.want.state != coleo.Idle {
			sum += max(0, min(d.until, end)-d.from)
		}
	}
	return sum
}

// scored is a change with a score for how well it reads single pictures.
type scored struct {
	change
	spec  *rules.Spec
	score int
}

// bestChange returns the best change to a description, and the recordings with their readings after
// that change. It returns nil for the change if no change helps.
func (s *search) bestChange(desc Description, spec *rules.Spec, all []caseReading) (*change, []caseReading) {
	groups := groupsOf(all[:len(s.fresh)])
	groups = groups[:min(len(groups), mostGroups)]
	good, screens := s.goodShots(all), wipedScreens(spec, all)
	var list []scored
	typed := typedIn(spec, all[:len(s.fresh)])
	for _, g := range groups {
		e := &editor{doc: parseDocument(string(desc.Text)), spec: spec, group: g, typed: typed}
		found := s.tryOnPictures(desc, e.changes(), g, good)
		found = append(found, s.tryOnPictures(desc, e.newItems(all), g, good)...)
		for i := range found {
			if g.want.state == coleo.Idle && trustsWiped(found[i].spec, screens) {
				found[i].cost += costWiped
			}
		}
		list = append(list, bestOf(found, mostReplayed)...)
	}
	return s.tryOnRecordings(list, all)
}

// bestOf returns the n changes with the highest scores, best first. If two scores are equal, the
// change with the lower cost comes first.
func bestOf(list []scored, n int) []scored {
	slices.SortStableFunc(list, func(a, b scored) int {
		return cmp.Or(b.score-a.score, a.cost-b.cost, cmp.Compare(a.text, b.text))
	})
	list = slices.CompactFunc(list, func(a, b scored) bool { return a.text == b.text })
	return list[:min(len(list), n)]
}

// tryOnPictures tries changes on single pictures, because that is quicker than with recordings. It
// returns each change that makes at least one picture of the group read as labelled, with the score of
// the change.
func (s *search) tryOnPictures(desc Description, list []change, g group, good []shot) []scored {
	slices.SortStableFunc(list, func(a, b change) int { return cmp.Or(a.cost-b.cost, cmp.Compare(a.text, b.text)) })
	var out []scored
	for _, c := range list[:min(len(list), mostTried)] {
		if time.Now().After(s.until) {
			s.result.TimedOut = true
			break
		}
		s.result.Tried++
		spec, err := rules.ParseSpecOn(desc.File, []byte(c.text), desc.Bases)
		if err != nil {
			continue
		}
		score := score(spec, g)
		if score == 0 {
			continue
		}
		for _, p := range good {
			if n := p.reread(spec); !n.isWell() {
				score -= 2
			}
		}
		out = append(out, scored{c, spec, score})
	}
	return out
}

// score returns four points for each picture of the group that the description reads as labelled.
func score(spec *rules.Spec, g group) int {
	score := 0
	for _, p := range g.shots {
		if n := p.reread(spec); n.isWell() {
			score += 4
		}
	}
	return score
}

// tryOnRecordings returns the change with which the largest number of recordings read as labelled.
// It also returns the recordings with their readings after that change. It skips changes that make
// a recording read worse. Of two equally good changes, it returns the one with the lower cost.
func (s *search) tryOnRecordings(list []scored, all []caseReading) (*change, []caseReading) {
	var best *change
	var bestTapes []caseReading
	left := countBroken(all)
	for i := range list {
		if time.Now().After(s.until) {
			s.result.TimedOut = true
			break
		}
		c := &list[i]
		if left == 0 && best != nil && c.cost >= best.cost {
			continue
		}
		fixed, why := s.replayAll(c.spec, all, left)
		if fixed == nil {
			s.nearest = append(s.nearest, Attempt{c.what, why})
			continue
		}
		n := countBroken(fixed)
		if best == nil || n < left || n == left && c.cost < best.cost {
			best, bestTapes, left = &c.change, fixed, n
		}
	}
	return best, bestTapes
}

// replayAll reads all recordings with another description. It begins with some recordings that did
// not read as labelled, and stops if none of them now reads as labelled. If the new description is
// not better, replayAll returns nil and the reason.
func (s *search) replayAll(spec *rules.Spec, all []caseReading, left int) ([]caseReading, string) {
	fixed := slices.Clone(all)
	done := make([]bool, len(all))
	read := func(i int) {
		fixed[i].got, done[i] = readLabel(spec, all[i].Case), true
	}
	tried, holding, still := 0, 0, ""
	for _, i := range s.shortestBroken(all) {
		read(i)
		if why := whatGotWorse(&all[i], &fixed[i]); why != "" {
			return nil, why
		}
		if tried++; fixed[i].readsAsLabelled() {
			holding++
		} else {
			d := differences(fixed[i].want, fixed[i].got, fixed[i].Slack)
			still = fmt.Sprintf("%s still does not match its labels", all[i].Name)
			if len(d) > 0 {
				still = fmt.Sprintf("%s is still read as %s at %.2f s, not %s", all[i].Name, d[0].got, d[0].from, d[0].want)
			}
		}
	}
	if holding == 0 {
		return nil, still
	}
	for i := range all {
		if done[i] || all[i].readsAlike(spec) {
			continue // if all pictures read the same, so does the recording
		}
		read(i)
		if why := whatGotWorse(&all[i], &fixed[i]); why != "" {
			return nil, why
		}
	}
	if countBroken(fixed) > left {
		return nil, still
	}
	return fixed, ""
}

// shortestBroken returns the indexes of some new recordings that do not read as labelled, shortest
// first.
func (s *search) shortestBroken(all []caseReading) []int {
	var out []int
	for i := range all[:len(s.fresh)] {
		if !all[i].readsAsLabelled() {
			out = append(out, i)
		}
	}
	slices.SortStableFunc(out, func(a, b int) int { return len(all[a].Cast.Events) - len(all[b].Cast.Events) })
	return out[:min(len(out), mostSample)]
}

// bestAttempts returns the best changes that failed, at most mostNearest of them.
func (s *search) bestAttempts() []Attempt {
	return s.nearest[:min(len(s.nearest), mostNearest)]
}
