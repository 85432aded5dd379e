package terminal

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/reading"
	"coleo.dev/holder"
	"coleo.dev/holder/journal"
)

// TestAScreenIsRebuiltFromItsNewestSnapshot plays recordings that are longer than a segment of the journal. It
// ends the session in the middle of a drawing, once by a crash and once by Close. The rebuilt screen must
// equal a screen that was never interrupted.
func TestAScreenIsRebuiltFromItsNewestSnapshot(t *testing.T) {
	t.Parallel()
	for i, name := range []string{"gemini-0.61.0/scen-a", "opencode-1.18.33/tui3", "codex-0.169.0/bash-approve",
		"claude-code-2.1.329/compact"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data, cols, rows := traffic(t, name, journal.SegmentSize+recorded*2/3+i*12345)
			st, s := setStage(t, cols, rows, 0)
			half := journal.SegmentSize + 54_321 // a crash shortly after a snapshot
			st.say(s, data[:half])
			crash(s)
			s = st.attach()
			if s.snapshots.Newest() != journal.SegmentSize {
				t.Fatalf("the screen was rebuilt from a snapshot at %d, want %d", s.snapshots.Newest(),
					journal.SegmentSize)
			}
			st.same(s, "after a crash", st.whole(cols, rows))
			st.say(s, data[half:])
			want := st.whole(cols, rows)
			st.same(s, "after a crash and more output", want)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = st.attach()
			if s.snapshots.Newest() != int64(len(data)) {
				t.Fatalf("the screen was rebuilt from a snapshot at %d, want the one that Close left at %d",
					s.snapshots.Newest(), len(data))
			}
			st.same(s, "after a close", want)
			_ = s.Close()
		})
	}
}

// TestASnapshotThatCannotBeUsedCostsTimeAndNothingElse checks that the session uses the next older
// snapshot, or the whole journal if no snapshot is usable.
func TestASnapshotThatCannotBeUsedCostsTimeAndNothingElse(t *testing.T) {
	t.Parallel()
	data, cols, rows := traffic(t, "gemini-0.61.0/scen-a", 2*journal.SegmentSize+recorded/2)
	st, s := setStage(t, cols, rows, 0)
	st.say(s, data[:journal.SegmentSize+1]) // in two pieces, so that the snapshot at the end of the segment is not skipped
	st.say(s, data[journal.SegmentSize+1:])
	crash(s)
	want := st.whole(cols, rows)
	shots := shotsOf(st.handle)
	if got := shots.offsets(); !slices.Equal(got, []int64{journal.SegmentSize, 2 * journal.SegmentSize}) {
		t.Fatalf("there are snapshots at %v", got)
	}
	newest, err := os.ReadFile(shots.path(2 * journal.SegmentSize))
	if err != nil {
		t.Fatal(err)
	}
	foreign := reading.New(s.rules(), cols, rows, time.Now(), func(coleo.Change) {}).Snapshot(time.Now())
	foreign.Nonce, foreign.Offset = "another", 2*journal.SegmentSize
	other, err := foreign.Encode()
	if err != nil {
		t.Fatal(err)
	}
	for what, bad := range map[string][]byte{
		"torn":                   newest[:len(newest)/2],
		"empty":                  {},
		"with a flipped bit":     flipped(newest, len(newest)-100),
		"with a flipped head":    flipped(newest, 40),
		"of another form":        bytes.Replace(newest, []byte("snapshot 1"), []byte("snapshot 2"), 1),
		"of another session":     other,
		"of another CoreVersion": resealed(t, newest),
	} {
		write(t, shots.path(2*journal.SegmentSize), bad)
		s := st.attach()
		if s.snapshots.Newest() < journal.SegmentSize || s.snapshots.Newest() > 2*journal.SegmentSize {
			t.Errorf("%s: rebuilt from %d", what, s.snapshots.Newest())
		}
		st.same(s, "a snapshot "+what, want)
		crash(s)
	}
	write(t, shots.path(1<<40), newest) // a snapshot after the journal's end
	for _, offset := range shots.offsets() {
		write(t, shots.path(offset), newest[:100])
	}
	s = st.attach()
	st.same(s, "no usable snapshot", want)
	if _, err := os.Stat(shots.path(1 << 40)); err == nil {
		t.Error("a snapshot from behind the journal's end is still there")
	}
	if notes(s) != "" {
		t.Errorf("the journal was whole, and the session says: %s", notes(s))
	}
	_ = s.Close()
}

// TestAFloodStaysBoundedOnDisk sets a small limit for the journal. The session must then remove old output and
// old snapshots, without changing the screen. If all snapshots are lost too, the session must report that the
// screen is incomplete.
func TestAFloodStaysBoundedOnDisk(t *testing.T) {
	t.Parallel()
	const keep = 2 * journal.SegmentSize
	data, cols, rows := traffic(t, "codex-0.169.0/bash-approve", 6*journal.SegmentSize+recorded/2)
	st, s := setStage(t, cols, rows, keep)
	for len(st.said) < len(data) {
		n := min(len(data)-len(st.said), journal.SegmentSize)
		st.say(s, data[len(st.said):len(st.said)+n])
	}
	start, end, err := journal.Span(holder.JournalDir(st.handle.Dir))
	if err != nil || end != int64(len(data)) || start == 0 || end-start > keep+2*journal.SegmentSize {
		t.Fatalf("the journal has %d to %d (%v), want no more than %d bytes", start, end, err,
			keep+2*journal.SegmentSize)
	}
	shots := shotsOf(st.handle)
	if list := shots.offsets(); list[0] != start || len(list) > 4 {
		t.Fatalf("snapshots at %v for a journal that begins at %d: want them from there on", list, start)
	}
	crash(s)
	s = st.attach()
	st.same(s, "a trimmed journal", st.whole(cols, rows))
	if notes(s) != "" {
		t.Errorf("nothing was lost, and the session says: %s", notes(s))
	}
	crash(s)
	for _, offset := range shots.offsets() {
		write(t, shots.path(offset), []byte("not a screen"))
	}
	s = st.attach()
	st.say(s, []byte("\x1b[2J\x1b[Hstill here"))
	if got := s.Screen().Lines[0]; got != "still here" {
		t.Errorf("without a snapshot the screen shows %q", got)
	}
	if want := fmt.Sprintf("before offset %d is deleted", start); !strings.Contains(notes(s), want) {
		t.Errorf("the session says %q, want that what was %s", notes(s), want)
	}
	_ = s.Close()
}

// The program must receive one reply to each of its terminal queries, even if the session ends in between. One
// case is a session that ends after it has sent the reply and before the reply arrives.
func TestQueriesAreAnsweredOnceWhateverHappensBetween(t *testing.T) {
	t.Parallel()
	const query, answer = "\x1b[5n", "\x1b[0n"
	st, s := setStage(t, 80, 24, 0)
	typed := func() string { raw, _ := os.ReadFile(st.typed); return string(raw) }
	awaitAnswers := func(n int) {
		t.Helper()
		st.say(s, []byte(query))
		st.await("an answer", func() bool { return len(typed()) >= n*len(answer) })
	}
	awaitAnswers(1)
	awaitAnswers(2)
	crash(s)
	s = st.attach()
	awaitAnswers(3)
	r, unlock := s.live.lock() // another query, whose reply is lost with the host agent
	lost := r.Snapshot(time.Now())
	lost.Nonce = st.handle.Nonce
	lost.Replies = []reading.Reply{{Offset: r.End(), Data: []byte("again")},
		{Offset: r.End() + 1, Data: []byte("owed")}}
	data, err := lost.Encode()
	unlock()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(shotsOf(st.handle).dir, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, shotsOf(st.handle).path(lost.Offset), data)
	crash(s)
	for range 2 { // in the second round, the holder has already received the reply
		s = st.attach()
		st.await("what was owed", func() bool { return strings.Contains(typed(), "owed") })
		st.await("its confirmation", func() bool { return len(s.replies.unconfirmed()) == 0 })
		crash(s)
	}
	if want := strings.Repeat(answer, 3) + "owed"; typed() != want {
		t.Fatalf("the program was typed %q, want %q", typed(), want)
	}
}

// A snapshot must keep the state that the program last reported in an escape sequence. It must also keep
// whether bracketed paste was ever on.
func TestASnapshotKeepsWhatTheScreenDoesNotShow(t *testing.T) {
	t.Parallel()
	st, s := setStage(t, 80, 24, 0)
	st.say(s, []byte("\x1b]7501;state=working\a\x1b[?2004h"))
	st.await("the mode has been seen", func() bool { return tookPastes(s) })
	st.say(s, []byte("\x1b[?2004l"))
	st.say(s, bytes.Repeat([]byte("some output\r\n"), 1<<15))
	_ = s.Close()
	s = st.attach()
	defer s.Close()
	if s.snapshots.Newest() != int64(len(st.said)) {
		t.Fatalf("rebuilt from %d, want %d: this shows nothing", s.snapshots.Newest(), len(st.said))
	}
	if x := s.Explain(); len(x.Witnesses) < 2 || x.Witnesses[1].State != coleo.Processing {
		t.Errorf("the witnesses are %+v, want the program's own word among them", x.Witnesses)
	}
	if !tookPastes(s) {
		t.Error("it is forgotten that the program took pastes once")
	}
}

// tookPastes reports whether the program has ever switched bracketed paste on.
func tookPastes(s *session) bool {
	r, unlock := s.live.lock()
	defer unlock()
	return r.Snapshot(time.Now()).Pastes
}

// shots are the snapshots of a generation on disk.
type shots struct{ dir string }

func shotsOf(h coleo.Handle) shots { return shots{filepath.Join(h.Dir, "snapshots")} }

func (s shots) path(offset int64) string {
	return filepath.Join(s.dir, fmt.Sprintf("%016x.screen", offset))
}

// offsets returns the offsets of the snapshots, ascending.
func (s shots) offsets() (out []int64) {
	files, _ := filepath.Glob(filepath.Join(s.dir, "*.screen"))
	for _, file := range files {
		offset, _ := strconv.ParseInt(strings.TrimSuffix(filepath.Base(file), ".screen"), 16, 64)
		out = append(out, offset)
	}
	return out
}

func flipped(data []byte, at int) []byte {
	out := slices.Clone(data)
	out[at] ^= 1
	return out
}

// resealed returns a snapshot whose screen has another format version. The checksums are correct.
func resealed(t *testing.T, data []byte) []byte {
	t.Helper()
	_, body, _ := bytes.Cut(data, []byte("\n"))
	body = slices.Clone(body)
	at := bytes.Index(body, []byte("coleo screen\n"))
	if at < 0 {
		t.Fatal("there is no screen in the snapshot")
	}
	body[at+len("coleo screen\n")+1]++
	return append(fmt.Appendf(nil, "coleo snapshot 1 %08x\n", crc32.ChecksumIEEE(body)), body...)
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// notes returns what a session has reported about lost output, and about sources whose outdated state it
// ignores.
func notes(s *session) string {
	var out []string
	list, _ := s.log.after(0)
	for _, c := range list {
		if c.Kind == coleo.ChangeLapse {
			out = append(out, c.Note)
		}
	}
	return strings.Join(out, "; ")
}

// A smaller terminal can hide a dialog, and the session can be closed before the program has drawn for this
// size. The next session must still know the screen from before this size, because the program has shown
// nothing else.
func TestASizeBeforeACloseHidesNoDialog(t *testing.T) {
	t.Parallel()
	st, s := setStageOf(t, stageSpec+`[[dialog]]
name = "permission"
kind = "permission"
when = [{ where = "bottom 1", pattern = '^y/n' }]
top = '^====='
title = '^(Run it\?)$'
subject = "above"
options = ["Yes", "No"]
select = "digit"
approve = '^Yes$'
deny = '^No$'
`, 80, 24, 0)
	st.say(s, bytes.Repeat([]byte("some output\r\n"), 1<<15))
	st.say(s, []byte("\x1b[2J\x1b[H> \r\n-----\r\n=====\r\ntouch it\r\nRun it?\r\n1. Yes\r\n2. No\r\ny/n\x1b[H"))
	st.await("it asks", func() bool { return s.State().Dialog != nil })
	if err := s.Resize(t.Context(), 80, 2); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = st.attach()
	defer s.Close()
	st.await("the screen is read", func() bool { return s.State().State != coleo.Initializing })
	if s.State().State != coleo.WaitingApproval {
		t.Errorf("it reads %+v, want the dialog that the program has shown", s.State())
	}
}
