package server

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"coleo.dev"
	"coleo.dev/brain"
	"coleo.dev/store"
)

// testNotifier returns a notifier with a database of its own.
func testNotifier(t *testing.T, command string, log io.Writer) *notifier {
	t.Helper()
	db, err := store.OpenServe(filepath.Join(t.TempDir(), "serve.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	logger := slog.New(slog.NewTextHandler(log, nil))
	n := newNotifier(brain.New(brain.Config{DB: db, Log: logger}), db, command, logger)
	n.load(t.Context())
	return n
}

// runEnd is an event that is always reported.
func runEnd() coleo.Event {
	return coleo.Event{Kind: coleo.EventRunEnd, Arm: "one", Time: time.Now().Add(time.Minute), Payload: []byte(`{}`)}
}

// TestANotifierThatEndsTakesNoMoreEvents: serve ends while many events wait. The notifier must stop
// at the first event that it cannot report. If it reported a later event, the next serve would skip
// the earlier one.
func TestANotifierThatEndsTakesNoMoreEvents(t *testing.T) {
	t.Parallel()
	n := testNotifier(t, "true", io.Discard)
	if !n.handle(t.Context(), runEnd(), "1") || n.told.Cursor != "1" {
		t.Fatalf("the first event was not taken: the cursor is %q", n.told.Cursor)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 20 { // several tries, because select chooses at random between a free slot and the end of ctx
		if n.handle(ctx, runEnd(), "2") || n.told.Cursor != "1" {
			t.Fatalf("an event was taken after the end: the cursor is %q", n.told.Cursor)
		}
	}
}

// The user's notification command leaves a child that keeps the command's output open. After the
// time limit, the notifier must give the next notices all the same.
func TestACommandThatHangsDoesNotStopTheNotices(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"sleep 1000 | cat", "sleep 1000 & exit 0", "sleep 1000 & wait"} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			n := testNotifier(t, command, io.Discard)
			n.timeout = 100 * time.Millisecond
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			for i := range 2*notifyAtOnce + 1 {
				if !n.handle(ctx, runEnd(), "1") {
					t.Fatalf("notice %d is not given, because the commands before it still run", i)
				}
			}
			for range notifyAtOnce { // waits until no command runs any more
				n.running <- struct{}{}
			}
		})
	}
}

// The notifier runs at most notifyAtOnce commands at the same time, and further events wait. An
// event that waits must not count as reported.
func TestOnlySomeCommandsRunAtTheSameTime(t *testing.T) {
	t.Parallel()
	release := filepath.Join(t.TempDir(), "release")
	n := testNotifier(t, "until [ -e "+release+" ]; do sleep 0.01; done", io.Discard)
	ctx, end := context.WithCancel(t.Context())
	defer end()
	for i := range notifyAtOnce {
		if !n.handle(ctx, runEnd(), "1") {
			t.Fatalf("command %d does not run", i)
		}
	}
	waiting := make(chan bool)
	go func() { waiting <- n.handle(ctx, runEnd(), "2") }()
	select {
	case <-waiting:
		t.Errorf("more than %d commands run", notifyAtOnce)
	case <-time.After(50 * time.Millisecond):
		end()
		if <-waiting || n.told.Cursor != "1" {
			t.Errorf("the waiting event was taken: the cursor is %q", n.told.Cursor)
		}
	}
	if err := os.WriteFile(release, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for range notifyAtOnce { // waits until no command runs any more
		n.running <- struct{}{}
	}
}

func TestTextsInTheEnvironmentOfACommandAreBounded(t *testing.T) {
	t.Parallel()
	long := "a\x00b" + strings.Repeat("é", notifyText) + "\xff"
	for _, entry := range (notice{answer: long, dialog: coleo.Dialog{Title: long, Subject: long}}).environ() {
		name, value, _ := strings.Cut(entry, "=")
		texts := name == "COLEO_ANSWER" || name == "COLEO_DIALOG" || name == "COLEO_SUBJECT"
		if len(value) > notifyText || strings.Contains(value, "\x00") || !utf8.ValidString(value) ||
			texts != strings.HasPrefix(value, "abé") {
			t.Errorf("%s has %d bytes, and begins with %q", name, len(value), value[:min(len(value), 10)])
		}
	}
}

func TestTheNotificationCommandFromTheInputIsBounded(t *testing.T) {
	t.Parallel()
	for size, want := range map[int]coleo.Code{0: "", notifyMost: "", notifyMost + 1: coleo.EInvalid} {
		got, err := readNotify(strings.NewReader(strings.Repeat("x", size)))
		if coleo.ErrorCode(err) != want || err == nil && len(got) != size {
			t.Errorf("a command of %d bytes: %d bytes, %v; want the code %q", size, len(got), err, want)
		}
	}
}

func TestTheOutputOfACommandIsBounded(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	n := testNotifier(t, "head -c 3000000 /dev/zero | tr '\\0' x; echo; echo the end >&2; exit 3", &log)
	n.start(t.Context(), notice{event: "finished"})()
	if text := log.String(); len(text) > 2*notifyOutput || !strings.Contains(text, "the end") ||
		!strings.Contains(text, "exit status 3") {
		t.Errorf("the log has %d bytes, and ends with %q", len(text), text[max(0, len(text)-100):])
	}
}

// A new event can have an old time: the clock of its machine is behind serve's clock, or serve's
// clock was set back. The notifier must report the event all the same.
func TestNoClockDecidesWhatIsReported(t *testing.T) {
	t.Parallel()
	told := filepath.Join(t.TempDir(), "told")
	n := testNotifier(t, "echo told >> "+told, io.Discard)
	e := runEnd()
	e.Time = time.Now().Add(-time.Hour)
	if !n.handle(t.Context(), e, "1") {
		t.Fatal("the event was not taken")
	}
	for range notifyAtOnce { // waits until no command runs any more
		n.running <- struct{}{}
	}
	if text, err := os.ReadFile(told); string(text) != "told\n" {
		t.Errorf("the user was told %q, %v; want one notice", text, err)
	}
}
