package api

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/api/apiclient"
	"coleo.dev/brain"
	"coleo.dev/bus/bustest"
	"coleo.dev/localsocket"
	"coleo.dev/registry"
	"coleo.dev/store"
	"coleo.dev/wire"
)

// The sizes of the tests with many followers. A slow follower reads one byte per second. All events
// together are larger than the buffers of a socket.
const (
	followers     = 1000
	slowFollowers = 100
	slowPause     = time.Second // the time before each byte
	followedBatch = 20
	followedAll   = 160 // the number of events
	followedBytes = 2000
)

// realServer starts a real brain with a new database. It returns the database and the path of the
// server's socket.
func realServer(t *testing.T) (*store.ServeDB, string) {
	t.Helper()
	db, err := store.OpenServe(filepath.Join(t.TempDir(), "serve.db"))
	if err != nil {
		t.Fatal(err)
	}
	reg, err := registry.New("", []string{"none"})
	if err != nil {
		t.Fatal(err)
	}
	b := brain.New(brain.Config{DB: db, Bus: bustest.New(t).Serve(), Registry: reg,
		Log: slog.New(slog.DiscardHandler), Now: time.Now})
	dir, err := os.MkdirTemp("", "c") // a long path would exceed the limit for socket addresses
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "s.sock")
	l, err := localsocket.Listen(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() { _ = b.Run(ctx) })
	serving.Go(func() { _ = newServer(t, b).Serve(ctx, l, true) })
	t.Cleanup(func() { stop(); serving.Wait(); db.Close(); os.RemoveAll(dir) })
	return db, path
}

// followRaw asks the server for all events and returns the connection.
func followRaw(t *testing.T, socket string) io.ReadCloser {
	t.Helper()
	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	fmt.Fprint(conn, "GET /api/events HTTP/1.0\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n")
	return conn
}

// countEvents reads a sequence of events up to the last event. It returns an error if an event is
// missing or occurs twice.
func countEvents(in io.Reader) error {
	lines := bufio.NewReader(in)
	for want := 1; want <= followedAll; {
		line, err := lines.ReadString('\n')
		if err != nil {
			return fmt.Errorf("after event %d: %w", want-1, err)
		}
		if !strings.HasPrefix(line, "data: ") {
			continue
		}
		if begin := line[:min(len(line), 80)]; !strings.Contains(begin, fmt.Sprintf(`"seq":%d,`, want)) {
			return fmt.Errorf("instead of event %d came %s", want, begin)
		}
		want++
	}
	return nil
}

// dripping reads one byte after each slowPause. When the channel `released` is closed, it reads at full speed.
type dripping struct {
	io.Reader
	released <-chan struct{}
}

func (d dripping) Read(p []byte) (int, error) {
	select {
	case <-d.released:
		return d.Reader.Read(p)
	case <-time.After(slowPause):
		return d.Reader.Read(p[:1])
	}
}

// TestR7SlowFollowersLoseNothingAndDelayNobody starts 1,000 followers, of whom 100 read one byte
// per second. The other 900 must receive all events while the slow ones are still at the beginning.
// Then the slow ones read at full speed, and must receive all events too.
func TestR7SlowFollowersLoseNothingAndDelayNobody(t *testing.T) { // not parallel, because it needs the whole machine
	if testing.Short() {
		t.Skip("it needs a thousand connections")
	}
	db, socket := realServer(t)
	payload, _ := json.Marshal(strings.Repeat("x", followedBytes))
	project := func(from, to int) {
		var list []coleo.Event
		for seq := from; seq < to; seq++ {
			list = append(list, coleo.Event{Host: "h", Epoch: "e", Seq: uint64(seq), Kind: coleo.EventToolProgress,
				Source: coleo.SourceHook, Payload: payload})
		}
		if err := db.Project(t.Context(), list); err != nil {
			t.Error(err)
		}
	}
	released := make(chan struct{})
	fast, slow := make(chan error, followers), make(chan error, followers)
	for i := range followers {
		body := followRaw(t, socket)
		if i%(followers/slowFollowers) == 0 {
			go func() { slow <- countEvents(dripping{body, released}) }()
		} else {
			go func() { fast <- countEvents(body) }()
		}
	}
	for at := 1; at <= followedAll; at += followedBatch {
		project(at, at+followedBatch)
	}
	for range followers - slowFollowers {
		if err := <-fast; err != nil {
			t.Fatalf("a fast follower: %v", err)
		}
	}
	if n := len(slow); n > 0 {
		t.Fatalf("%d slow followers have ended before they were released: %v", n, <-slow)
	}
	close(released)
	for range slowFollowers {
		if err := <-slow; err != nil {
			t.Fatalf("a slow follower: %v", err)
		}
	}
}

// TestM21WhoFollowsGetsWhatAReaderOfPagesGets reads the same events as server-sent events, over /ws
// and in pages. All three must return the same events and cursors, even if the client connects
// again in the middle.
func TestM21WhoFollowsGetsWhatAReaderOfPagesGets(t *testing.T) {
	t.Parallel()
	db, socket := realServer(t)
	c, err := apiclient.New(apiclient.Config{Socket: socket})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	const all = 120
	var list []coleo.Event
	for seq := 1; seq <= all; seq++ {
		list = append(list, coleo.Event{Host: "h", Epoch: "e", Seq: uint64(seq), Run: "r1", Arm: "a1", Time: time.Now().UTC(),
			Kind: coleo.EventToolEnd, Source: coleo.SourceHTTP, Turn: seq, Payload: []byte(`{"outcome":"success"}`)})
	}
	if err := db.Project(t.Context(), list[:1]); err != nil { // so that the cursor 1 exists
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
	defer stop()
	var paged, streamed, socketed []string
	var following sync.WaitGroup
	following.Go(func() { streamed = collectStream(ctx, t, c, all) })
	following.Go(func() {
		for u, err := range c.Follow(ctx, "0") {
			if err != nil {
				t.Error(err)
				return
			}
			if u.Event == nil {
				continue
			}
			if socketed = append(socketed, told(u.Cursor, u.Event)); len(socketed) == all {
				return
			}
		}
	})
	for at := 1; at < all; at += 7 {
		if err := db.Project(t.Context(), list[at:min(at+7, all)]); err != nil {
			t.Fatal(err)
		}
	}
	following.Wait()
	for f := eventsAfter(""); ; {
		f.Limit = 1 // one event per page, so that Events returns a cursor for each event
		page, next, err := c.Events(ctx, f)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		paged, f.After = append(paged, told(next, &page[0])), next
	}
	if want := strings.Join(paged, "\n"); len(paged) != all || strings.Join(streamed, "\n") != want ||
		strings.Join(socketed, "\n") != want {
		t.Errorf("%d events came in pages, %d by server-sent events and %d by /ws; want the same %d", len(paged),
			len(streamed), len(socketed), all)
	}
}

func eventsAfter(cursor string) wire.EventFilter { return wire.EventFilter{Run: "r", After: cursor} }

// told returns an event and its cursor as one line of text.
func told(cursor string, e *coleo.Event) string {
	raw, _ := json.Marshal(e)
	return cursor + " " + string(raw)
}

// collectStream follows the events until it has received the wanted number. It disconnects after
// every few events, and connects again with the last cursor.
func collectStream(ctx context.Context, t *testing.T, c *apiclient.Client, all int) (got []string) {
	after := ""
	for len(got) < all && ctx.Err() == nil {
		n := 0
		for u, err := range c.FollowEvents(ctx, eventsAfter(after)) {
			if err != nil {
				t.Error(err)
				return got
			}
			if after = u.Cursor; u.Event != nil {
				got = append(got, told(u.Cursor, u.Event))
			}
			if n++; n == 11 || len(got) == all {
				break
			}
		}
	}
	return got
}
