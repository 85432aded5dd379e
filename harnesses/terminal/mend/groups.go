package mend

import (
	"cmp"
	"slices"

	"coleo.dev"
)

// settling is the longest time, in seconds, from a wrongly read picture to the wrong reading that it
// causes. The reading can come later than the picture, because idle and error become a reading only
// after they have lasted for some time.
const settling = 0.8

// group is a set of pictures that the rules read wrongly. All of its pictures have the same
// labelled state. The same rule read the same wrong state on all of them.
type group struct {
	want, got labelEntry
	rule      string // the rule that decided the state
	shots     []shot
	cases     []string
}

// groupsOf returns the groups of wrongly read pictures. Groups with more recordings come first.
func groupsOf(all []caseReading) []group {
	var wrong, fine []group
	for i := range all {
		t := &all[i]
		if t.readsAsLabelled() {
			continue
		}
		for _, d := range differences(t.want, t.got, t.Slack) {
			if d.got.state == coleo.Idle || d.got.state == coleo.Failed {
				d.from -= settling
			}
			for _, p := range t.picturesWithin(d) {
				if p.isWell() {
					fine = addToGroup(fine, t.Name, p) // the rules read the picture as labelled; only the time of the reading is wrong
				} else {
					wrong = addToGroup(wrong, t.Name, p)
				}
			}
		}
	}
	if len(wrong) == 0 {
		wrong = fine
	}
	slices.SortStableFunc(wrong, func(a, b group) int {
		return cmp.Or(len(b.cases)-len(a.cases), len(b.shots)-len(a.shots))
	})
	wrong = append(slices.DeleteFunc(slices.Clone(wrong), group.isStart), slices.DeleteFunc(wrong, group.isNoStart)...)
	for i := range wrong {
		wrong[i].shots = evenlySpaced(wrong[i].shots, mostShots)
	}
	return wrong
}

// isStart reports whether the label says that the agent CLI is still starting on the pictures of the
// group. Propose looks at such groups last, because that state needs no rule.
func (g group) isStart() bool { return g.want.state == coleo.Initializing }

func (g group) isNoStart() bool { return !g.isStart() }

func addToGroup(list []group, name string, p shot) []group {
	i := slices.IndexFunc(list, func(g group) bool {
		return g.want.state == p.want.state && g.got.state == p.state && g.rule == p.rule
	})
	if i < 0 {
		i = len(list)
		list = append(list, group{want: p.want, got: labelEntry{state: p.state, title: p.title}, rule: p.rule})
	}
	g := &list[i]
	g.shots = append(g.shots, p)
	if !slices.Contains(g.cases, name) {
		g.cases = append(g.cases, name)
	}
	return list
}

// evenlySpaced returns at most n elements of list, evenly spaced.
func evenlySpaced[T any](list []T, n int) []T {
	if len(list) <= n {
		return list
	}
	var out []T
	for i := range n {
		out = append(out, list[i*len(list)/n])
	}
	return out
}

// goodShots returns pictures that the rules read as labelled. It selects them at random. The seed of
// the search determines which ones.
func (s *search) goodShots(all []caseReading) []shot {
	var out []shot
	for i := range all {
		var mine []shot
		for _, p := range all[i].shots {
			if p.state != "" && p.state == p.want.state && (p.want.title == "" || p.title == p.want.title) {
				mine = append(mine, p)
			}
		}
		s.random.Shuffle(len(mine), func(a, b int) { mine[a], mine[b] = mine[b], mine[a] })
		out = append(out, mine[:min(len(mine), 6)]...)
	}
	s.random.Shuffle(len(out), func(a, b int) { out[a], out[b] = out[b], out[a] })
	return out[:min(len(out), mostGood)]
}
