package main

import (
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/conformance"
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

func TestAnArmWithoutAnAccountSaysSo(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	if e := f.fails(2, "arm", "usage", f.name); e.Code != coleo.EUnsupported {
		t.Errorf("usage = %+v, want %s", e, coleo.EUnsupported)
	}
}
