package main

import (
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/conformance"
	"coleo.dev/cost"
)

func TestM26ARealConversationsUsageIsWhatTheModelCounted(t *testing.T) {
	t.Parallel()
	l := newLive(t)
	nonce := conformance.Nonce()
	end := decode[coleo.RunEnd](l.world, "arm", "prompt", l.name, "--wait", "say "+nonce)
	var want coleo.Usage
	for _, q := range l.model.Record() {
		if q.Side == "" {
			want.Input, want.Output = want.Input+q.Input, want.Output+q.Output
		}
	}
	u := decode[coleo.Usage](l.world, "arm", "usage", l.name)
	if u.Input != want.Input || u.Output != want.Output || u.Source != "transcript" || u.Total() == 0 {
		t.Errorf("usage = %+v, the model counted %+v", u, want)
	}
	if end.Usage == nil || *end.Usage != u {
		t.Errorf("the run's end says %+v, the arm %+v", end.Usage, u)
	}
	if arm := l.arm(l.name); arm.TotalTokens != u.Total() {
		t.Errorf("the arm's total is %d, want %d", arm.TotalTokens, u.Total())
	}
	if line := l.must("arm", "usage", l.name); !strings.Contains(line, " tokens: ") {
		t.Errorf("usage prints %q", line)
	}
}

func TestM26TheCostIsThatOfTheModelsRecord(t *testing.T) {
	t.Parallel()
	l := newLive(t)
	l.must("arm", "prompt", l.name, "--wait", "say "+conformance.Nonce())
	l.must("arm", "prompt", l.name, "--wait", "say "+conformance.Nonce())
	check := func(when string) {
		t.Helper()
		want := 0.0
		for _, q := range l.model.Record() {
			if q.Side == "" {
				want += float64(3*q.Input+15*q.Output) / 1e6
			}
		}
		for _, by := range []string{"arm", "run", "model", "day,project", "harness"} {
			r := decode[cost.Report](l.world, "cost", l.name, "--by", by)
			if got := r.Total.Dollars; got < want*0.99 || got > want*1.01 || want == 0 {
				t.Errorf("%s, by %s: the cost is %g, and %g by the model's record: %+v", when, by, got, want, r)
			}
			if r.Total.Unpriced != 0 || r.Total.Estimated != 0 || r.Total.Parts[coleo.PriceOverride] == 0 {
				t.Errorf("%s: the sources are %+v", when, r.Total)
			}
		}
	}
	check("after two turns")
	if r := decode[cost.Report](l.world, "cost", "--by", "run"); len(r.Rows) != 2 {
		t.Errorf("by run there are %+v, want two runs", r.Rows)
	}
	l.must("down")
	l.must("up")
	check("after a restart of all")
	l.must("arm", "kill", l.name)
	l.must("arm", "recover", l.name) // the record still has the earlier replies, which must not count twice
	l.must("arm", "prompt", l.name, "--wait", "say "+conformance.Nonce())
	check("after the conversation was resumed")
	if line := l.must("cost", "--since", "7d"); !strings.Contains(line, "transcript") ||
		!strings.Contains(line, "override") {
		t.Errorf("cost prints\n%s", line)
	}
}

func TestAnArmWithoutAnAccountSaysSo(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	if e := f.fails(2, "arm", "usage", f.name); e.Code != coleo.EUnsupported {
		t.Errorf("usage = %+v, want %s", e, coleo.EUnsupported)
	}
}
