package graph

import (
	"errors"
	"fmt"
	"strings"

	"coleo.dev"
)

// Valid returns an error if g cannot be the graph of a whole log, or of the beginning of one. It
// checks these rules:
//   - A run begins with run_start. No event of the run follows its run_end.
//   - The turns of a run are counted from 1, without gaps.
//   - No call ends, or reports progress, before it begins. No call begins or ends twice.
//   - Both ends of each edge exist, and each node except an arm has one parent.
//   - The id of a node begins with the id of its run.
//   - In an ended run, each call without an end is marked as an orphan. In an open run, no
//     call is marked.
//
// The error names every recorded fault. Its code is EInvalid.
func Valid(g Graph) error {
	var all []error
	for id, r := range g.runs.sortedEntries() {
		for _, f := range r.faults {
			all = append(all, fmt.Errorf("run %s: %s", id, f))
		}
	}
	all = append(all, g.findFaults()...)
	if len(all) == 0 {
		return nil
	}
	return coleo.Errorf(coleo.EInvalid, "the log of the runs is not as it should be: %v", errors.Join(all...))
}

// findFaults returns an error for each rule that the graph breaks. It checks only the rules that a
// graph satisfies even if its log is wrong.
func (g Graph) findFaults() []error {
	var all []error
	parents := map[string]int{}
	for _, e := range g.edges.sortedEntries() {
		_, from := g.nodes.get(e.From)
		_, to := g.nodes.get(e.To)
		if !from || !to {
			all = append(all, fmt.Errorf("edge %s from %s to %s: an end is missing", e.Kind, e.From, e.To))
		}
		if e.Kind == EdgeParent {
			parents[e.From]++
		}
	}
	for id, n := range g.nodes.sortedEntries() {
		if want := map[bool]int{false: 1}[n.Kind == KindArm]; parents[id] != want {
			all = append(all, fmt.Errorf("node %s has %d parents", id, parents[id]))
		}
		all = append(all, g.soundNode(n)...)
	}
	return all
}

func (g Graph) soundNode(n *Node) []error {
	var all []error
	if n.Run == "" {
		return nil
	}
	run, ok := g.runs.get(n.Run)
	switch {
	case !ok:
		return []error{fmt.Errorf("node %s: there is no run %s", n.ID, n.Run)}
	case n.Kind != KindRun && !strings.HasPrefix(n.ID, n.Run+"/"):
		all = append(all, fmt.Errorf("node %s does not have the id of run %s", n.ID, n.Run))
	}
	if c := n.Call; c != nil {
		if c.Orphan && c.Result != nil || c.Result == nil && run.ended && !c.Orphan && len(run.faults) == 0 {
			all = append(all, fmt.Errorf("call %s: the mark of an orphan is wrong", n.ID))
		}
	}
	return all
}
