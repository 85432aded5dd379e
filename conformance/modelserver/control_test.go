package modelserver

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestTheControlSocketSteersTheServer(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "control.sock")
	s := start(t, Config{Control: path})
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("socket = %v, %v, want mode 0600", info, err)
	}
	c, ctx := newControlClient(path), within(t)

	err := c.SetScript(ctx, Script{Rules: []Rule{{Name: "hold", When: When{Contains: "hold"},
		Reply: []Step{{Stall: true}, {Text: "held"}}}}})
	if err != nil {
		t.Fatal(err)
	}
	got := asking(t, s.URL()+"/v1/messages", message("hold it"))
	qs, err := c.Record(ctx, 1, 10*time.Second)
	if err != nil || len(qs) != 1 || qs[0].Prompt != "hold it" || qs[0].Rule != "rule 1 (hold)" {
		t.Fatalf("Record = %+v, %v, want the one request", qs, err)
	}
	if _, err := s.Wait(ctx, func(q Request) bool { return q.Stalled }); err != nil {
		t.Fatal(err)
	}
	if n, err := c.Release(ctx); n != 1 || err != nil {
		t.Errorf("Release = %d, %v, want 1", n, err)
	}
	if body := <-got; !strings.Contains(body, "held") {
		t.Errorf("answer = %s, want held", body)
	}
	if qs, err := c.Record(ctx, 2, 0); err != nil || len(qs) != 0 {
		t.Errorf("Record from 2 = %+v, %v, want nothing", qs, err)
	}
}

func TestARefusedScriptLeavesTheOldOne(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "control.sock")
	s := start(t, Config{Control: path, Script: Script{Rules: []Rule{{Reply: []Step{{Text: "old"}}}}}})
	err := newControlClient(path).SetScript(within(t), Script{Rules: []Rule{{Name: "bad"}}})
	if err == nil || !strings.Contains(err.Error(), `rule 1 (\"bad\"): reply has no steps`) {
		t.Errorf("SetScript = %v, want the rule named", err)
	}
	if _, body := ask(t, s.URL()+"/v1/messages", message("x")); !strings.Contains(body, "old") {
		t.Errorf("answer = %s, want the old script's", body)
	}
}

func TestControlIsReachedOverLoopbackToo(t *testing.T) {
	t.Parallel()
	s := start(t, Config{})
	if status, body := ask(t, s.URL()+"/coleo/release", ""); status != 200 || body != `{"released":0}` {
		t.Errorf("release = %d %s", status, body)
	}
	if status, _ := ask(t, s.URL()+"/coleo/other", ""); status != 404 {
		t.Errorf("unknown control = %d, want 404", status)
	}
	if n := len(s.Record()); n != 0 {
		t.Errorf("%d control requests stand in the record, want none", n)
	}
}
