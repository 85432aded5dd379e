package api

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/wire"
)

// answerFollow returns a sequence for scriptedBrain.follow. The sequence first yields one event
// whose Host contains the filter, and then only signs of life.
func answerFollow(ctx context.Context, f wire.EventFilter, beat time.Duration) (iter.Seq[wire.Update], error) {
	if f.Run == "none" {
		return nil, coleo.Errorf(coleo.ENotFound, "no run %q", f.Run)
	}
	return func(yield func(wire.Update) bool) {
		said := fmt.Sprintf("%s|%s|%v|%s", f.Arm, f.Run, f.Kinds, f.After)
		if !yield(wire.Update{Event: &coleo.Event{Host: said, Kind: coleo.EventTurn}, Cursor: "z1"}) {
			return
		}
		for n := 2; yield(wire.Update{Cursor: fmt.Sprint("z", n)}); n++ {
			select {
			case <-time.After(beat):
			case <-ctx.Done():
				return
			}
		}
	}, nil
}

func TestEventsAreFollowedByServerSentEvents(t *testing.T) {
	t.Parallel()
	s := newServer(t, &scriptedBrain{follow: answerFollow, events: func(wire.EventFilter) ([]coleo.Event, string, error) {
		return nil, "page", nil
	}})
	s.times.beat = time.Millisecond
	base := serveHTTP(t, s)
	const accept = "text/event-stream"
	for _, c := range []struct{ path, accept, last, want string }{
		{"/api/events", accept, "", "||[]|"},
		{"/api/events?arm=a&run=r&kind=turn,usage&after=c", accept, "", "a|r|[turn usage]|c"},
		{"/api/events?after=c&follow=true", "", "d", "||[]|d"},
		{"/api/arms/octavia/events?from=now", accept, "", "octavia||[]|now"},
		{"/api/arms/octavia/events?follow=true&arm=a&run=r", "", "", "octavia||[]|"},
		{"/api/runs/r1/events?follow=true&kind=turn", "", "", "|r1|[turn]|"},
		{"/api/runs/none/events", accept, "", "not_found"},
		{"/api/runs/r1/events", "", "", `"next":"page"`},
		{"/api/runs/r1/events?follow=false", "application/json", "", `"next":"page"`},
		{"/api/health", accept, "", `"status"`},
	} {
		ctx, stop := context.WithCancel(t.Context())
		q, _ := http.NewRequestWithContext(ctx, "GET", base+c.path, nil)
		q.Header.Set("X-API-Key", testToken)
		q.Header.Set("Accept", c.accept)
		q.Header.Set("Last-Event-ID", c.last)
		r, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		body := ""
		for buf := make([]byte, 1000); err == nil && !strings.Contains(body, "id: z3"); {
			n := 0
			n, err = r.Body.Read(buf)
			body += string(buf[:n])
		}
		if !strings.Contains(body, c.want) {
			t.Errorf("%s: %q (%v), want %q", c.path, body, err, c.want)
		}
		if streams := strings.Contains(c.want, "|"); streams != (r.Header.Get("Content-Type") == accept) {
			t.Errorf("%s has the type %s", c.path, r.Header.Get("Content-Type"))
		} else if streams && !strings.HasPrefix(body, "id: z1\nevent: turn\ndata: {") {
			t.Errorf("%s begins with %q", c.path, body)
		}
		stop()
		r.Body.Close()
	}
}

func TestTheClientFollowsEvents(t *testing.T) {
	t.Parallel()
	s := newServer(t, &scriptedBrain{follow: answerFollow})
	s.times.beat = time.Millisecond
	c := socketClient(t, s)
	var got []string
	for u, err := range c.FollowEvents(t.Context(), wire.EventFilter{Arm: "octavia", After: "c",
		Kinds: []coleo.EventKind{"turn"}}) {
		if err != nil {
			t.Fatal(err)
		}
		if got = append(got, u.Cursor); u.Event != nil {
			got[len(got)-1] += " " + u.Event.Host
		}
		if len(got) == 3 {
			break
		}
	}
	if want := "[z1 octavia||[turn]|c z2 z3]"; fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
	for _, err := range c.FollowEvents(t.Context(), wire.EventFilter{Run: "none"}) {
		if coleo.ErrorCode(err) != coleo.ENotFound {
			t.Errorf("an unknown run = %v", err)
		}
	}
}

// TestASignOfLifeComesInTime: a follower gets a sign of life at least every times.beat, even if events that it did
// not ask for arrive in between. Each such event makes the sequence yield a cursor, and restart its interval.
func TestASignOfLifeComesInTime(t *testing.T) {
	t.Parallel()
	const beat = 15 * time.Second
	for _, other := range []time.Duration{4 * time.Second, 14 * time.Second, beat - time.Nanosecond} {
		clock := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
		yielded := map[string]time.Time{} // the time of each cursor
		s := newServer(t, &scriptedBrain{follow: func(_ context.Context, _ wire.EventFilter,
			interval time.Duration) (iter.Seq[wire.Update], error) {
			return func(yield func(wire.Update) bool) {
				for n, pause := range []time.Duration{0, other, interval, interval, interval} {
					clock = clock.Add(pause)
					cursor := fmt.Sprint("z", n)
					if yielded[cursor] = clock; !yield(wire.Update{Cursor: cursor}) {
						return
					}
				}
			}, nil
		}})
		s.now, s.times.beat = func() time.Time { return clock }, beat
		_, body := ask(t, s.Handler(true), "GET", "/api/events?follow=true", "")
		last := yielded["z0"]
		for line := range strings.Lines(body) {
			cursor, is := strings.CutPrefix(strings.TrimSpace(line), "id: ")
			if !is {
				continue
			}
			if gap := yielded[cursor].Sub(last); gap > beat {
				t.Errorf("with another event after %s, %s is silent for %s", other, cursor, gap)
			}
			last = yielded[cursor]
		}
		if last.Equal(yielded["z0"]) {
			t.Errorf("with another event after %s, there is one sign of life: %q", other, body)
		}
	}
}
