package api

import (
	"context"
	"iter"
	"testing"

	"coleo.dev"
)

// tell returns a brain's Subscribe that sends a test's updates until the channel is
// closed.
func tell(from <-chan coleo.Update) func(context.Context) iter.Seq[coleo.Update] {
	return func(ctx context.Context) iter.Seq[coleo.Update] {
		return func(yield func(coleo.Update) bool) {
			for {
				select {
				case u, ok := <-from:
					if !ok || !yield(u) {
						return
					}
				case <-ctx.Done():
					return
				}
			}
		}
	}
}

func TestTheFeed(t *testing.T) {
	t.Parallel()
	source := make(chan coleo.Update)
	base := live(t, newServer(t, &scriptedBrain{subscribe: tell(source)}))
	conn, err := open(t, base, "/ws", "X-API-Key", testToken)
	if err != nil {
		t.Fatal(err)
	}
	say(t, conn, `{"type":"subscribe","channel":"weather"}`)
	hear(t, conn, `"type":"error","error":{"code":"invalid"`)
	say(t, conn, `nonsense`)
	hear(t, conn, `"type":"error","error":{"code":"invalid"`)
	say(t, conn, `{"type":"dance"}`)
	hear(t, conn, `"type":"error","error":{"code":"invalid"`)
	say(t, conn, `{"type":"subscribe","channel":"arms","after":"bad"}`)
	hear(t, conn, `"type":"error","error":{"code":"invalid"`)
	say(t, conn, `{"type":"subscribe","channel":"arms"}`)
	hear(t, conn, `{"type":"subscribed","channel":"arms"}`)
	hear(t, conn, `{"channel":"arms","event":"arms.snapshot","data":{"arms":[{"id":"a1"`)

	known, stranger := testArms()[0], coleo.Arm{ID: "a9"}
	source <- coleo.Update{Arm: &known}
	hear(t, conn, `{"channel":"arms","event":"arm.updated","data":{"id":"a1"`)
	source <- coleo.Update{Arm: &stranger}
	hear(t, conn, `"event":"arm.created","data":{"id":"a9"`)
	source <- coleo.Update{Arm: &stranger}
	hear(t, conn, `"event":"arm.updated","data":{"id":"a9"`)
	source <- coleo.Update{Removed: "a9"}
	hear(t, conn, `"event":"arm.deleted","data":{"id":"a9"}`)
	source <- coleo.Update{Event: &coleo.Event{Arm: "a1", Kind: coleo.EventState}} // for another channel
	source <- coleo.Update{Event: &coleo.Event{Arm: "a1", Kind: coleo.EventSpawned}}
	hear(t, conn, `{"channel":"arms","event":"arm.spawned","data":{`)
	source <- coleo.Update{Event: &coleo.Event{Arm: "a1", Kind: coleo.EventStopped}}
	hear(t, conn, `"event":"arm.killed"`)

	say(t, conn, `{"type":"subscribe","channel":"arm-events","after":"z1"}`)
	hear(t, conn, `"type":"error","error":{"code":"invalid"`)
	say(t, conn, `{"type":"subscribe","channel":"arm-events"}`)
	hear(t, conn, `{"type":"subscribed","channel":"arm-events"}`)
	source <- coleo.Update{Event: &coleo.Event{Arm: "a1", Kind: coleo.EventRunEnd, Seq: 7}, Cursor: "z7"}
	hear(t, conn, `{"channel":"arm-events","event":"run_end","data":{"host":"","epoch":"","seq":7,"arm":"a1"`)
	say(t, conn, `{"type":"unsubscribe","channel":"arm-events"}`)
	hear(t, conn, `unsubscribed`)
	source <- coleo.Update{Event: &coleo.Event{Arm: "a1", Kind: coleo.EventRunEnd}}
	source <- coleo.Update{Removed: "a1"}
	hear(t, conn, `"arm.deleted"`)

	close(source) // the brain cuts this reader off
	if code := closedWith(t, conn); code != 1013 {
		t.Errorf("closed with %d, want 1013: try again later", code)
	}
}

func TestTheClientFollows(t *testing.T) {
	t.Parallel()
	source := make(chan coleo.Update, 3)
	source <- coleo.Update{Removed: "a2"}
	source <- coleo.Update{Event: &coleo.Event{Kind: coleo.EventStopped, Arm: "a1"}, Cursor: "z2"}
	brain := &scriptedBrain{subscribe: tell(source)}
	c := socketClient(t, newServer(t, brain))
	var got []string
	var last error
	for u, err := range c.Follow(t.Context(), "z1") {
		switch {
		case err != nil:
			last = err
		case u.Arm != nil:
			got = append(got, "arm "+u.Arm.ID)
		case u.Removed != "":
			got = append(got, "removed "+u.Removed)
		case u.Event != nil:
			got = append(got, "event "+string(u.Event.Kind)+" at "+u.Cursor)
			close(source) // the brain cuts this reader off
		}
	}
	if after := brain.after.Load(); after == nil || *after != "z1" {
		t.Errorf("the client does not begin after its cursor, but after %v", after)
	}
	want := []string{"arm a1", "arm a2", "removed a2", "event arm.stopped at z2"}
	if len(got) != len(want) {
		t.Fatalf("got %q, want %q", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("update %d = %q, want %q", i, got[i], want[i])
		}
	}
	if coleo.ErrorCode(last) != coleo.EUnavailable {
		t.Errorf("the end = %v, want unavailable", last)
	}
}
