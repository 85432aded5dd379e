package terminal

import (
	"context"
	"errors"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/reading"
	"coleo.dev/harnesses/terminal/typing"
	"coleo.dev/holder"
	"coleo.dev/timelimit"
)

// knownTimeout is how long Still repeats a check that returns a TransientError. During this time, the agent
// CLI may still be drawing the screen again, for example for another size.
const knownTimeout = time.Second

// view shows a session to the session's Typist. It implements typing.View.
type view struct {
	live   *live
	log    *Changes
	client *holder.Client
}

var _ typing.View = view{}

// Still implements typing.View.
func (v view) Still(ctx context.Context, check typing.Check) (typing.At, error) {
	began := time.Now()
	for {
		now := time.Now()
		at, whole, err := v.check(now, check)
		if whole {
			var transient typing.TransientError
			switch {
			case !errors.As(err, &transient):
				return at, err
			case now.Sub(began) >= knownTimeout:
				return at, transient.Err
			}
		}
		if err := at.Wait(ctx); err != nil {
			return at, err
		}
	}
}

// check looks at the screen. If the picture is complete, it calls the function `check`. Just before that
// call, it passes the hook's newest reports to the Reader, because reports may have come during the look.
func (v view) check(now time.Time, check typing.Check) (at typing.At, whole bool, err error) {
	w, unlock := v.live.watch()
	defer unlock()
	w.look(now)
	at = typing.At{Offset: w.End(), Cursor: v.log.Cursor(), UpdateOpen: w.UpdateOpen(), Looked: w.next()}
	if w.UntilWhole(now) > 0 {
		return at, false, nil
	}
	w.takeReports(time.Now())
	return at, true, check(w.Reader)
}

// Await implements typing.View.
func (v view) Await(ctx context.Context, limit time.Duration, ok func(*reading.Reader) bool) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		hit, dead, looked := v.askReader(ok)
		if hit || dead {
			return hit
		}
		select {
		case <-looked:
		case <-timer.C:
			hit, _, _ = v.askReader(ok)
			return hit
		case <-ctx.Done():
			return false
		}
	}
}

func (v view) askReader(ok func(*reading.Reader) bool) (hit, dead bool, looked <-chan struct{}) {
	w, unlock := v.live.watch()
	defer unlock()
	return ok(w.Reader), w.Reading().State == coleo.Dead, w.next()
}

// Update implements typing.View.
func (v view) Update(change func(*reading.Reader) bool) {
	r, unlock := v.live.lock()
	look := change(r)
	unlock()
	if look {
		v.live.lookAgain()
	}
}

// Write implements typing.View. The holder types the keys only if the caller still waits for them. If this
// process or the holder was stopped for too long meanwhile, the holder types nothing.
func (v view) Write(ctx context.Context, k typing.Keys) (bool, error) {
	if err := timelimit.Check(ctx); err != nil {
		return false, typing.CallerGoneError{Err: err}
	}
	w := holder.Write{ID: k.ID, Kind: holder.WriteKeys, Data: k.Data, OnlyIfEnd: k.IfSeen, SeenOffset: k.Seen}
	if left, bounded := timelimit.Left(ctx); bounded {
		w.TypeWithin(left)
	}
	r, unlock := v.live.lock()
	first := !k.Inside && r.NoteKeys(k.Data)
	unlock()
	wrote, err := v.client.Write(w)
	typed := wrote.Applied || wrote.Duplicate
	if err == nil && !typed && first {
		r, unlock := v.live.lock()
		r.KeysRefused()
		unlock()
	}
	return typed, err
}
