package api

import (
	"context"
	"iter"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/display"
	"coleo.dev/wire"
)

// sendUpdates returns a function that a test can use as scriptedBrain.subscribe. The function returns a
// sequence of the updates that the test sends to the channel. The sequence ends when the test closes the
// channel.
func sendUpdates(from <-chan wire.Update) func(context.Context) iter.Seq[wire.Update] {
	return func(ctx context.Context) iter.Seq[wire.Update] {
		return func(yield func(wire.Update) bool) {
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
	source := make(chan wire.Update)
	base := serveHTTP(t, newServer(t, &scriptedBrain{subscribe: sendUpdates(source)}))
	conn, err := open(t, base, "/ws", "X-API-Key", testToken)
	if err != nil {
		t.Fatal(err)
	}
	send(t, conn, `{"type":"subscribe","channel":"weather"}`)
	readMessage(t, conn, `"type":"error","error":{"code":"invalid"`)
	send(t, conn, `nonsense`)
	readMessage(t, conn, `"type":"error","error":{"code":"invalid"`)
	send(t, conn, `{"type":"dance"}`)
	readMessage(t, conn, `"type":"error","error":{"code":"invalid"`)
	send(t, conn, `{"type":"subscribe","channel":"arms","after":"bad"}`)
	readMessage(t, conn, `"type":"error","error":{"code":"invalid"`)
	send(t, conn, `{"type":"subscribe","channel":"arms"}`)
	readMessage(t, conn, `{"type":"subscribed","channel":"arms"}`)
	readMessage(t, conn, `{"channel":"arms","event":"arms.snapshot","data":{"arms":[{"id":"a1"`)

	known, stranger := testArms()[0], coleo.Arm{ID: "a9"}
	source <- wire.Update{Arm: &known}
	readMessage(t, conn, `{"channel":"arms","event":"arm.updated","data":{"id":"a1"`)
	source <- wire.Update{Arm: &stranger}
	readMessage(t, conn, `"event":"arm.created","data":{"id":"a9"`)
	source <- wire.Update{Arm: &stranger}
	readMessage(t, conn, `"event":"arm.updated","data":{"id":"a9"`)
	source <- wire.Update{Removed: "a9"}
	readMessage(t, conn, `"event":"arm.deleted","data":{"id":"a9"}`)
	source <- wire.Update{Event: &coleo.Event{Arm: "a1", Kind: coleo.EventState}} // not a message of the channel arms
	source <- wire.Update{Event: &coleo.Event{Arm: "a1", Kind: coleo.EventSpawned}}
	readMessage(t, conn, `{"channel":"arms","event":"arm.spawned","data":{`)
	source <- wire.Update{Event: &coleo.Event{Arm: "a1", Kind: coleo.EventStopped}}
	readMessage(t, conn, `"event":"arm.killed"`)

	send(t, conn, `{"type":"subscribe","channel":"arm-events","after":"z1"}`)
	readMessage(t, conn, `"type":"error","error":{"code":"invalid"`)
	send(t, conn, `{"type":"subscribe","channel":"arm-events"}`)
	readMessage(t, conn, `{"type":"subscribed","channel":"arm-events"}`)
	source <- wire.Update{Event: &coleo.Event{Arm: "a1", Kind: coleo.EventRunEnd, Seq: 7}, Cursor: "z7"}
	readMessage(t, conn, `{"channel":"arm-events","event":"run_end","data":{"host":"","epoch":"","seq":7,"arm":"a1"`)
	send(t, conn, `{"type":"unsubscribe","channel":"arm-events"}`)
	readMessage(t, conn, `unsubscribed`)
	source <- wire.Update{Event: &coleo.Event{Arm: "a1", Kind: coleo.EventRunEnd}}
	source <- wire.Update{Removed: "a1"}
	readMessage(t, conn, `"arm.deleted"`)

	close(source) // as if the brain could not read its log
	if code := closedWith(t, conn); code != 1013 {
		t.Errorf("closed with %d, want 1013: try again later", code)
	}
}

func TestTheFeedChoosesEvents(t *testing.T) {
	t.Parallel()
	source := make(chan wire.Update)
	base := serveHTTP(t, newServer(t, &scriptedBrain{subscribe: sendUpdates(source)}))
	conn, err := open(t, base, "/ws", "X-API-Key", testToken)
	if err != nil {
		t.Fatal(err)
	}
	send(t, conn, `{"type":"subscribe","channel":"arm-events","arm":"nobody"}`)
	readMessage(t, conn, `"code":"not_found"`)
	send(t, conn, `{"type":"subscribe","channel":"arm-events","arm":"a1","run":"r1","kinds":["turn","run_end"]}`)
	readMessage(t, conn, `subscribed`)
	for i, e := range []coleo.Event{
		{Arm: "a2", Run: "r1", Kind: coleo.EventTurn}, {Arm: "a1", Run: "r2", Kind: coleo.EventTurn},
		{Arm: "a1", Run: "r1", Kind: coleo.EventUsage}, {Arm: "a1", Run: "r1", Kind: coleo.EventTurn},
		{Arm: "a1", Run: "r1", Kind: coleo.EventRunEnd},
	} {
		e.Seq = uint64(i)
		source <- wire.Update{Event: &e, Cursor: "z"}
	}
	readMessage(t, conn, `"seq":3`)
	readMessage(t, conn, `"seq":4`)
	send(t, conn, `{"type":"subscribe","channel":"all"}`) // without a filter
	readMessage(t, conn, `subscribed`)
	readMessage(t, conn, `arms.snapshot`)
	source <- wire.Update{Event: &coleo.Event{Arm: "a2", Kind: coleo.EventUsage, Seq: 9}, Cursor: "z"}
	readMessage(t, conn, `"seq":9`)
}

// TestM22TheFeedShowsWhatArmsDo also checks the beginning of a subscription to the channel "display": the
// server must send no old snapshots.
func TestM22TheFeedShowsWhatArmsDo(t *testing.T) {
	t.Parallel()
	displays := make(chan display.Snapshot)
	brain := &scriptedBrain{subscribe: sendUpdates(make(chan wire.Update)), displays: displays}
	conn, err := open(t, serveHTTP(t, newServer(t, brain)), "/ws", "X-API-Key", testToken)
	if err != nil {
		t.Fatal(err)
	}
	send(t, conn, `{"type":"subscribe","channel":"display"}`)
	readMessage(t, conn, `{"type":"subscribed","channel":"display"}`)
	displays <- display.Snapshot{Arm: "a1", Text: "hello"}
	readMessage(t, conn, `{"channel":"display","event":"display.changed","data":{"arm":"a1"`)
	send(t, conn, `{"type":"unsubscribe","channel":"display"}`)
	readMessage(t, conn, `unsubscribed`)
	displays <- display.Snapshot{Arm: "unwanted"} // no client is subscribed now
	displays <- display.Snapshot{Arm: "between"}  // the feed takes it only when it has dropped the unwanted one
	send(t, conn, `{"type":"subscribe","channel":"all"}`)
	readMessage(t, conn, `{"type":"subscribed","channel":"all"}`)
	readMessage(t, conn, `"event":"arms.snapshot"`)
	displays <- display.Snapshot{Arm: "a1", Run: "r"}
	got := readMessage(t, conn, `"event":"display.changed"`)
	if strings.Contains(got, `"arm":"between"`) { // the feed looked at it after the second subscription
		got = readMessage(t, conn, `"event":"display.changed"`)
	}
	if !strings.Contains(got, `"run":"r"`) {
		t.Errorf("got %q, want the snapshot of the run", got)
	}
	conn.Close()
}

func TestTheClientFollows(t *testing.T) {
	t.Parallel()
	source := make(chan wire.Update, 3)
	source <- wire.Update{Removed: "a2"}
	source <- wire.Update{Event: &coleo.Event{Kind: coleo.EventStopped, Arm: "a1"}, Cursor: "z2"}
	brain := &scriptedBrain{subscribe: sendUpdates(source)}
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
			close(source) // as if the brain could not read its log
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

// TestALimitedTokenHearsOfTheRemovalOfItsArms removes arms that have not changed since the client received the list
// of all arms. The client must hear of the removal of its own arm, and of no other arm.
func TestALimitedTokenHearsOfTheRemovalOfItsArms(t *testing.T) {
	t.Parallel()
	eachLimit(t, func(t *testing.T, by coleo.OperatorToken) {
		source := make(chan wire.Update, 2)
		s := tokenServer(t, &scriptedBrain{subscribe: sendUpdates(source)})
		conn, err := open(t, serveHTTP(t, s), "/ws", "Authorization", "Bearer "+limited(t, s, by))
		if err != nil {
			t.Fatal(err)
		}
		send(t, conn, `{"type":"subscribe","channel":"arms"}`)
		readMessage(t, conn, `subscribed`)
		readMessage(t, conn, `{"channel":"arms","event":"arms.snapshot","data":{"arms":[{"id":"a1"`)
		source <- wire.Update{Removed: "a2"}
		source <- wire.Update{Removed: "a1"}
		close(source) // so that the test does not wait for ever if no message comes
		readMessage(t, conn, `"event":"arm.deleted","data":{"id":"a1"}`)
	})
}
