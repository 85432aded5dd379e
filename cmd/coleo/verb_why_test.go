package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/api/apiclient"
	"coleo.dev/graph"
)

// TestG1AGraphOfARunOfARealProgram: the graph of a run must contain its prompt, its dialog and its
// approval. It contains no calls, because the fake agent CLI keeps no record of them.
func TestG1AGraphOfARunOfARealProgram(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.asks("make test")
	f.must("arm", "approve", f.name)
	client, err := apiclient.New(apiclient.Config{Socket: f.path("state/serve.sock")})
	f.check(err)
	defer client.Close()
	run := f.events(f.name, coleo.EventRunStart)[0].Run
	_, err = client.WaitRun(t.Context(), run)
	f.check(err)
	g := decode[graph.Document](f.world, "run", "graph", run)
	kinds := map[graph.Kind]graph.Node{}
	for _, n := range g.Nodes {
		kinds[n.Kind] = n
	}
	if kinds[graph.KindRun].Prompt == nil || kinds[graph.KindRun].Prompt.Text != "dialog make test" ||
		kinds[graph.KindRun].Prompt.Outcome != coleo.OutcomeFinished {
		t.Errorf("the run is %+v", kinds[graph.KindRun].Prompt)
	}
	if kinds[graph.KindSuspension].Suspension == nil || !kinds[graph.KindSuspension].Suspension.Answered ||
		kinds[graph.KindApproval].Approval.Subject != "make test" {
		t.Errorf("the graph has %+v", g.Nodes)
	}
	text := f.must("run", "graph", run)
	for _, want := range []string{"run " + run + " finished", `approval: approve`, `answered`} {
		if !strings.Contains(text, want) {
			t.Errorf("run graph lacks %q:\n%s", want, text)
		}
	}
	if out := f.must("run", "graph", run[:8]); out != text { // the list of runs shows this beginning of the id
		t.Errorf("the beginning of the id leads to the graph\n%s\nwant\n%s", out, text)
	}
	if end, err := client.WaitRun(t.Context(), run[:8]); err != nil || end.Outcome != coleo.OutcomeFinished {
		t.Errorf("the beginning of the id leads to the end %+v, %v", end, err)
	}
	if dot := f.must("run", "graph", run, "--format", "dot"); !strings.Contains(dot, `[label="answered"]`) {
		t.Errorf("the graph as dot is\n%s", dot)
	}
	if e := f.fails(2, "run", "graph", run, "--format", "png"); e.Code != coleo.EInvalid {
		t.Errorf("an unknown format: %+v", e)
	}
	if e := f.fails(4, "run", "graph", "nothing"); e.Code != coleo.ENotFound {
		t.Errorf("an unknown run: %+v", e)
	}
	file := filepath.Join(f.workdir, "a.txt")
	f.check(os.WriteFile(file, []byte("one\n"), 0o600))
	if a := decode[graph.Answer](f.world, "why", file+":1"); a.Certainty != graph.Nothing || a.Text != "one" {
		t.Errorf("why = %+v", a)
	}
	if out := f.must("why", file+":1"); !strings.Contains(out, "No call is known") {
		t.Errorf("why printed\n%s", out)
	}
	shown, err := client.Display(t.Context(), f.name)
	f.check(err)
	if shown.State != coleo.Idle || shown.Run != run || shown.Open || shown.Prompt != "dialog make test" {
		t.Errorf("the display is %+v", shown)
	}
}
