package api

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/wire"
)

// terminalOf returns the output of a terminal that shows the given pieces, one at a time, and then
// nothing.
func terminalOf(list ...coleo.Output) func(context.Context, int64) (coleo.Output, error) {
	var next atomic.Int32
	return func(ctx context.Context, from int64) (coleo.Output, error) {
		i := int(next.Add(1)) - 1
		if i >= len(list) {
			return silentTerminal(ctx, from)
		}
		return list[i], nil
	}
}

// expect reads the next piece, and fails the test if the function `check` returns false for the piece.
func expect(t *testing.T, v *viewer, what string, check func(piece) bool) {
	t.Helper()
	p, err := v.next()
	if err != nil || !check(p) {
		t.Fatalf("Next = %+v (%v), want %s", p, err, what)
	}
}

func view(t *testing.T, b *scriptedBrain, from int64) *viewer {
	t.Helper()
	v, err := viewOf(t.Context(), serveSocket(t, newServer(t, b)), "a1", from)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.close)
	return v
}

func TestATerminalIsReadByOffset(t *testing.T) {
	t.Parallel()
	v := view(t, &scriptedBrain{output: terminalOf(
		coleo.Output{Offset: 90, Data: []byte("0123456789"), Cols: 80, Rows: 24},
		coleo.Output{Offset: 100, Cols: 80, Rows: 24}, // no output came during the wait
		coleo.Output{Offset: 100, Data: []byte("ab"), Cols: 100, Rows: 30},
		coleo.Output{Offset: 500, Data: []byte("c"), Cols: 100, Rows: 30}, // the output between 102 and 500 was deleted
		coleo.Output{Offset: 501, End: true, Cols: 100, Rows: 30},
	)}, -10)
	expect(t, v, "offset 90", func(p piece) bool { return p.Offset != nil && *p.Offset == 90 })
	expect(t, v, "80x24", func(p piece) bool { return p.Cols == 80 && p.Rows == 24 })
	expect(t, v, "the digits", func(p piece) bool { return string(p.Data) == "0123456789" && v.offset() == 100 })
	expect(t, v, "100x30", func(p piece) bool { return p.Cols == 100 && p.Rows == 30 })
	expect(t, v, "ab", func(p piece) bool { return string(p.Data) == "ab" && v.offset() == 102 })
	expect(t, v, "offset 500", func(p piece) bool { return p.Offset != nil && *p.Offset == 500 })
	expect(t, v, "c", func(p piece) bool { return string(p.Data) == "c" && v.offset() == 501 })
	expect(t, v, "the end", func(p piece) bool { return p.End })
	if _, err := v.next(); coleo.ErrorCode(err) != coleo.EUnavailable {
		t.Errorf("behind the end: %v", err)
	}
}

func TestAViewerSoonKnowsWhereItIs(t *testing.T) {
	t.Parallel()
	waits := make(chan time.Duration, 2)
	v := view(t, &scriptedBrain{
		waited: func(d time.Duration) { waits <- d },
		output: terminalOf(coleo.Output{Offset: 7, Cols: 80, Rows: 24}), // the viewer has read everything
	}, 7)
	expect(t, v, "offset 7", func(p piece) bool { return p.Offset != nil && *p.Offset == 7 })
	if first, then := <-waits, <-waits; first != 0 || then <= 0 {
		t.Errorf("waits %s for the first piece, %s for the next", first, then)
	}
}

func TestATerminalThatIsNotThere(t *testing.T) {
	t.Parallel()
	v := view(t, &scriptedBrain{output: func(context.Context, int64) (coleo.Output, error) {
		return coleo.Output{}, coleo.Errorf(coleo.ENotFound, "no arm")
	}}, 0)
	expect(t, v, "not_found", func(p piece) bool { return p.Err != nil && p.Err.Code == coleo.ENotFound })
	resp, body := ask(t, newServer(t, &scriptedBrain{}).Handler(true), "GET", "/ws/terminal/a1?from=x", "")
	if resp.StatusCode != 422 || errorCode(t, body) != coleo.EInvalid {
		t.Errorf("from=x: %d %s", resp.StatusCode, body)
	}
}

// keyboard is an arm's keyboard that records the keys and the leases.
type keyboard struct {
	mu     sync.Mutex
	typed  strings.Builder
	leases []wire.LeaseRequest
	now    chan struct{} // receives a value for each lease and each input
	life   time.Duration
}

func (k *keyboard) brain() *scriptedBrain {
	return &scriptedBrain{
		output: silentTerminal,
		input: func(lease string, data []byte) error {
			k.mu.Lock()
			defer k.mu.Unlock()
			k.typed.WriteString(lease + ":" + string(data) + " ")
			k.now <- struct{}{}
			return nil
		},
		resize: func(cols, rows int) error { return coleo.Errorf(coleo.EInvalid, "%dx%d", cols, rows) },
		lease: func(r wire.LeaseRequest) (coleo.Lease, error) {
			k.mu.Lock()
			defer k.mu.Unlock()
			k.leases = append(k.leases, r)
			k.now <- struct{}{}
			if r.Holder == "greedy" {
				return coleo.Lease{}, coleo.Errorf(coleo.EBusy, "ann has it")
			}
			return coleo.Lease{ID: "l1", Holder: r.Holder, Until: time.Now().Add(k.life)}, nil
		},
	}
}

func TestKeysNeedTheLease(t *testing.T) {
	t.Parallel()
	k := &keyboard{now: make(chan struct{}, 20), life: time.Hour}
	v := view(t, k.brain(), 0)
	_ = v.input([]byte("x"))
	expect(t, v, "conflict", func(p piece) bool { return p.Err != nil && p.Err.Code == coleo.EConflict })
	_ = v.lease("greedy")
	expect(t, v, "busy", func(p piece) bool { return p.Err != nil && p.Err.Code == coleo.EBusy })
	expect(t, v, "no lease", func(p piece) bool { return p.Lost })
	_ = v.lease("ann")
	expect(t, v, "the lease", func(p piece) bool {
		return p.Lease != nil && p.Lease.ID == "l1" &&
			p.Lease.Holder == "ann"
	})
	_ = v.input([]byte("ls\r"))
	_ = v.input([]byte("\x03"))
	_ = v.resize(90, 25)
	expect(t, v, "the host's answer to the size", func(p piece) bool {
		return p.Err != nil && p.Err.Message == "90x25"
	})
	_ = v.release()
	expect(t, v, "no lease", func(p piece) bool { return p.Lost })
	_ = v.input([]byte("y"))
	expect(t, v, "conflict", func(p piece) bool { return p.Err != nil && p.Err.Code == coleo.EConflict })
	k.mu.Lock()
	defer k.mu.Unlock()
	if got := k.typed.String(); got != "l1:ls\r l1:\x03 " {
		t.Errorf("typed %q", got)
	}
	if last := k.leases[len(k.leases)-1]; last != (wire.LeaseRequest{ID: "l1", Release: true}) {
		t.Errorf("the last word on the lease = %+v, want its release", last)
	}
}

func TestTheLeaseIsGivenBackWhenTheViewerGoes(t *testing.T) {
	t.Parallel()
	k := &keyboard{now: make(chan struct{}, 20), life: time.Hour}
	v := view(t, k.brain(), 0)
	_ = v.lease("ann")
	<-k.now
	v.close()
	<-k.now
	k.mu.Lock()
	defer k.mu.Unlock()
	if last := k.leases[len(k.leases)-1]; last != (wire.LeaseRequest{ID: "l1", Release: true}) {
		t.Errorf("the last word on the lease = %+v, want its release", last)
	}
}

func TestTypingRenewsTheLease(t *testing.T) {
	t.Parallel()
	k := &keyboard{now: make(chan struct{}, 20), life: -time.Second} // the lease expires at once
	v := view(t, k.brain(), 0)
	_ = v.lease("ann")
	<-k.now
	_ = v.input([]byte("a"))
	<-k.now
	<-k.now
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.leases) != 2 || k.leases[1] != (wire.LeaseRequest{ID: "l1", Holder: "ann"}) ||
		k.typed.String() != "l1:a " {
		t.Errorf("leases %+v, typed %q", k.leases, k.typed.String())
	}
}

// If a viewer does not read, the server must not fetch more and more output.
func TestASlowViewerIsNotBufferedFor(t *testing.T) {
	t.Parallel()
	var fetched atomic.Int32
	gone := make(chan struct{})
	data := []byte(strings.Repeat("x", 64<<10))
	b := &scriptedBrain{output: func(ctx context.Context, from int64) (coleo.Output, error) {
		if ctx.Err() != nil {
			return coleo.Output{}, ctx.Err()
		}
		fetched.Add(1)
		return coleo.Output{Offset: from, Data: data, Cols: 80, Rows: 24}, nil
	}}
	s := newServer(t, b)
	s.times.write = 50 * time.Millisecond
	h := s.Handler(true)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(gone)
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	if _, err := open(t, srv.URL, "/ws/terminal/a1"); err != nil {
		t.Fatal(err)
	}
	select {
	case <-gone:
	case <-time.After(20 * time.Second):
		t.Fatal("a viewer that does not read is served on")
	}
	if n := fetched.Load(); n > 2000 {
		t.Errorf("fetched %d pieces of 64 KiB for a viewer that reads none", n)
	}
}
