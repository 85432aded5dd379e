package recordtest

import (
	"path"
	"slices"
	"testing"

	"coleo.dev"
	"coleo.dev/graph"
	"coleo.dev/trace"
)

const (
	graphRun    = "run"
	graphArm    = "arm"
	graphFolder = "/work" // the folder of the arm; calls may contain paths relative to it
	// written is the line of text that the agent CLI writes to a file in every recording.
	written = "new words"
)

// oneRun treats all prompts of a recording as one run.
type oneRun struct{}

func (oneRun) RunOf(string, string) (string, bool) { return graphRun, false }

// eventsOf returns the log of one run that does the work in the list.
func eventsOf(list []coleo.Activity) []coleo.Event {
	all := []coleo.Event{{Run: graphRun, Kind: coleo.EventRunStart, Payload: []byte(`{}`)}}
	list = slices.Clone(list)
	for i := range list {
		list[i].Position, list[i].Key = int64(i+1), "" // new positions, so that no activity counts as already known
	}
	_, work, _ := trace.State{}.Begin(graphRun).Take("record", list, oneRun{})
	all = append(all, work...)
	all = append(all, coleo.Event{Run: graphRun, Kind: coleo.EventRunEnd, Payload: []byte(`{"status":"idle"}`)})
	for i := range all {
		all[i].Host, all[i].Arm, all[i].Seq = "host", graphArm, uint64(i+1)
	}
	return all
}

// checkGraph checks that the work in the list forms a valid graph, in which each call has its
// outcome. If a call wrote the text in the constant `written`, checkGraph also checks that the graph
// names this call.
func checkGraph(t *testing.T, file string, list []coleo.Activity) {
	t.Helper()
	log := eventsOf(list)
	var g graph.Graph
	for _, e := range log {
		g = graph.Reduce(g, e)
	}
	if err := graph.Valid(g); err != nil {
		t.Errorf("%s: the graph of its work: %v", file, err)
	}
	ends := map[string]coleo.ToolOutcome{}
	for _, end := range All[coleo.ToolEnd](list) {
		ends[end.ID] = end.Outcome
	}
	for _, c := range All[coleo.ToolCall](list) {
		n, ok := g.Node(graphRun + "/" + c.ID)
		switch {
		case !ok:
			t.Errorf("%s: the call %s is not in the graph", file, c.ID)
		case n.Call.Result == nil != (ends[c.ID] == ""), n.Call.Result != nil && n.Call.Result.Status != ends[c.ID]:
			t.Errorf("%s: in the graph the call %s ended as %+v, want %q", file, c.ID, n.Call.Result, ends[c.ID])
		}
	}
	for _, c := range All[coleo.ToolCall](list) {
		if c.Kind != coleo.ToolEdit || len(c.Files) != 1 || path.Base(c.Files[0]) != "new.txt" ||
			ends[c.ID] != coleo.ToolSuccess {
			continue
		}
		p := c.Files[0]
		if !path.IsAbs(p) {
			p = path.Join(graphFolder, p)
		}
		q := graph.Question{Paths: []string{p}, Line: 1, Text: written, Folders: map[string]string{graphArm: graphFolder}}
		if a := graph.Why(q, log); a.Certainty != graph.Wrote || a.Call.ID != graphRun+"/"+c.ID {
			t.Errorf("%s: who wrote %q into %s: %s %+v, want the call %s", file, written, p, a.Certainty, a.Call, c.ID)
		}
		return
	}
	t.Logf("%s: no call writes new.txt", file)
}
