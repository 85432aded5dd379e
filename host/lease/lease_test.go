package lease

import (
	"strings"
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
		mine, err := l.Take(t.Context(), "", "grace", "ada")
		if err != nil || mine.ID == "" || mine.Holder != "grace" || time.Until(mine.Until) != Time {
			t.Fatalf("taken: %+v, %v", mine, err)
		}
		for what, err := range map[string]error{
			"typing":     l.MayType("", "ada"),
			"a renewal":  l.Renew("another", "ada"),
			"a release":  l.Release("another", "ada"),
			"no lease":   l.Renew("", "ada"),
			"an attempt": func() error { _, err := l.Take(t.Context(), "", "alan", "ada"); return err }(),
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
		mine, err := l.Take(t.Context(), "", "grace", "ada")
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
		if _, err := l.Take(t.Context(), "", "alan", "ada"); err != nil {
			t.Errorf("nobody has the lease, but %v", err)
		}
	})
}

func TestATakeWaitsForTheOrdersThatAreTyping(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var l Lease
		first, err := l.Begin("", "ada")
		second, err2 := l.Begin("", "ada")
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		taken := make(chan error, 1)
		go func() {
			_, err := l.Take(t.Context(), "", "grace", "ada")
			taken <- err
		}()
		synctest.Wait()
		if _, err := l.Begin("", "ada"); coleo.ErrorCode(err) != coleo.EBusy {
			t.Errorf("an order begins to type while a person waits: %v", err)
		}
		first()
		first() // the second call has no effect
		synctest.Wait()
		select {
		case err := <-taken:
			t.Fatalf("an order is still typing, and the lease was given: %v", err)
		default:
		}
		second()
		if err := <-taken; err != nil || l.Now().Holder != "grace" {
			t.Errorf("nobody types, but %v", err)
		}
	})
}

func TestATakeSaysThatAnOrderTypesTooLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var l Lease
		end, err := l.Begin("", "ada")
		if err != nil {
			t.Fatal(err)
		}
		_, err = l.Take(t.Context(), "", "grace", "ada")
		if coleo.ErrorCode(err) != coleo.EBusy || !strings.Contains(err.Error(), "still typing into arm ada") || l.Taken() {
			t.Errorf("%v, and the lease is taken: %v", err, l.Taken())
		}
		end()
		if _, err := l.Take(t.Context(), "", "grace", "ada"); err != nil {
			t.Error(err)
		}
	})
}

// A viewer was stopped for a while, so its lease has lapsed, and Coleo has begun to type a prompt. Then the viewer
// renews its lease. The viewer's keys must not mix with the prompt.
func TestALapsedLeaseIsNotRenewedWhileAnOrderTypes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var l Lease
		mine, err := l.Take(t.Context(), "", "grace", "ada")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(Time + time.Second)
		end, err := l.Begin("", "ada")
		if err != nil {
			t.Fatal(err)
		}
		renewed := make(chan error, 2)
		for range cap(renewed) {
			go func() {
				_, err := l.Take(t.Context(), mine.ID, "grace", "ada")
				renewed <- err
			}()
			synctest.Wait()
		}
		if len(renewed) != 0 {
			t.Fatalf("the lease is renewed while an order types: %v", <-renewed)
		}
		if err := l.Renew(mine.ID, "ada"); coleo.ErrorCode(err) != coleo.EBusy {
			t.Errorf("a key while an order types: %v, want %s", err, coleo.EBusy)
		}
		end()
		for range cap(renewed) {
			if err := <-renewed; err != nil {
				t.Errorf("after the order: %v", err)
			}
		}
		if err := l.Renew(mine.ID, "ada"); err != nil {
			t.Errorf("a key after the order: %v", err)
		}
	})
}
