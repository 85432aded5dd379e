package mend

import "slices"

// group is what several breaks have in common.
type group struct {
	want, got told
	rule      string // the rule that decided
	shots     []shot
	cases     []string
}

// groupsOf returns the groups of breaks. The largest group comes first.
func groupsOf(all []taped) []group {
	var out []group
	for i := range all {
		t := &all[i]
		if t.holds() {
			continue
		}
		for _, d := range differences(t.want, t.got) {
			for _, p := range t.during(d) {
				if p.want.state == p.state && (p.want.title == "" || p.want.title == p.title) && len(t.during(d)) > 1 &&
					p.want.title == "" {
					continue // the rules read it as labelled
				}
				out = addToGroup(out, t.Name, p)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b group) int { return len(b.shots) - len(a.shots) })
	for i := range out {
		out[i].shots = spread(out[i].shots, mostShots)
	}
	return out
}

func addToGroup(list []group, name string, p shot) []group {
	i := slices.IndexFunc(list, func(g group) bool {
		return g.want.state == p.want.state && g.got.state == p.state && g.rule == p.rule
	})
	if i < 0 {
		i = len(list)
		list = append(list, group{want: p.want, got: told{state: p.state, title: p.title}, rule: p.rule})
	}
	g := &list[i]
	g.shots = append(g.shots, p)
	if !slices.Contains(g.cases, name) {
		g.cases = append(g.cases, name)
	}
	return list
}

// spread returns at most n elements, spread over the list.
func spread[T any](list []T, n int) []T {
	if len(list) <= n {
		return list
	}
	var out []T
	for i := range n {
		out = append(out, list[i*len(list)/n])
	}
	return out
}

// goodShots returns pictures that the rules read as labelled. A seed selects them.
func (s *search) goodShots(all []taped) []shot {
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
