package lease

import (
	"testing"
	"testing/synctest"
	"time"

	"coleo.dev"
)

func TestOneHolderHasTheLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var l Lease
		if l.Taken() || l.Now().ID != "" {
			t.Fatalf("nobody has taken the lease, and it is %+v", l.Now())
		}
		mine, err := l.Take("", "grace", "ada")
		if err != nil || mine.ID == "" || mine.Holder != "grace" || time.Until(mine.Until) != Time {
			t.Fatalf("taken: %+v, %v", mine, err)
		}
		for what, err := range map[string]error{
			"typing":     l.MayType("", "ada"),
			"a renewal":  l.Renew("another", "ada"),
			"a release":  l.Release("another", "ada"),
			"no lease":   l.Renew("", "ada"),
			"an attempt": func() error { _, err := l.Take("", "alan", "ada"); return err }(),
		} {
			if coleo.ErrorCode(err) != coleo.EBusy {
				t.Errorf("%s by another caller: %v, want %s", what, err, coleo.EBusy)
			}
		}
		if l.Now() != mine {
			t.Errorf("the refused callers have changed the lease to %+v", l.Now())
		}
		if err := l.Release(mine.ID, "ada"); err != nil || l.Taken() {
			t.Errorf("after the release: %v, taken %v", err, l.Taken())
		}
	})
}

func TestALeaseLapsesUnlessItIsRenewed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var l Lease
		mine, err := l.Take("", "grace", "ada")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(Time / 2)
		if err := l.Renew(mine.ID, "ada"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(Time - time.Second)
		if !l.Taken() {
			t.Error("the renewed lease has lapsed too early")
		}
		time.Sleep(2 * time.Second)
		if err := l.Renew(mine.ID, "ada"); coleo.ErrorCode(err) != coleo.EBusy || l.Taken() {
			t.Errorf("the lease has lapsed: a renewal says %v, taken %v", err, l.Taken())
		}
		if _, err := l.Take("", "alan", "ada"); err != nil {
			t.Errorf("nobody has the lease, but %v", err)
		}
	})
}
