package terminal

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/casttest"
	"coleo.dev/harnesses/terminal/reading"
	"coleo.dev/harnesses/terminal/rules"
	"coleo.dev/holder"
	"coleo.dev/holder/process"
	"coleo.dev/pty"
)

// asHolder is the argument that makes the test binary a holder.
const asHolder = "coleo-terminal-hold"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == asHolder {
		if err := holder.Serve(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// patience limits each wait of these tests. It is long because the race detector and a loaded
// machine are slow. A wait ends as soon as its condition holds.
const patience = 3 * time.Minute

// stage is a program under a real holder. The program prints the text that the test chooses, and
// stores the typed keys.
type stage struct {
	t      *testing.T
	h      *Harness
	dir    string
	pipe   *os.File // the program prints the bytes that are written here
	typed  string   // path of the file with the typed keys
	said   []byte
	handle coleo.Handle
}

const stageSpec = `name = "stage"
command = "stage"
[launch.permission]
ask = ""
[keys]
submit = "ENTER"
[composer]
bottom = "^-+$"
first = "^> ?"
[[rule]]
name = "composer"
state = "idle"
when = [{ where = "composer", pattern = ".*" }]
`

// setStage starts the program and opens its session. `keep` limits the size of the journal.
func setStage(t *testing.T, cols, rows int, keep int64) (*stage, *session) {
	t.Helper()
	return setStageOf(t, stageSpec, cols, rows, keep)
}

// setStageOf is setStage with another Spec.
func setStageOf(t *testing.T, described string, cols, rows int, keep int64) (*stage, *session) {
	t.Helper()
	return setStageWith(t, described, Hooks{}, coleo.SpawnConfig{Cols: cols, Rows: rows, Keep: keep})
}

// setStageWith is setStageOf with hooks, and with some fields of the start's configuration.
func setStageWith(t *testing.T, described string, hooks Hooks, c coleo.SpawnConfig) (*stage, *session) {
	t.Helper()
	spec, err := rules.ParseSpec("stage.toml", []byte(described))
	if err != nil {
		t.Fatal(err)
	}
	st := &stage{t: t, h: New(spec, hooks, []string{os.Args[0], asHolder}, NewShared()), dir: t.TempDir()}
	st.typed = filepath.Join(st.dir, "typed")
	fifo, program := filepath.Join(st.dir, "fifo"), filepath.Join(st.dir, "stage")
	script := "#!/bin/sh\nstty raw -echo\nexec 3<&0\ncat <&3 >" + st.typed + " &\ncat " + fifo + "\nwait\n"
	if err := os.WriteFile(program, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	c.Arm, c.Generation, c.Nonce = filepath.Base(filepath.Dir(st.dir))+filepath.Base(st.dir), 1, "n1"
	c.Dir, c.Workdir, c.Binary = filepath.Join(st.dir, "hold"), st.dir, program
	c.Environ = append(c.Environ, os.Environ()...)
	s, err := st.h.Spawn(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	st.handle = s.Handle()
	t.Cleanup(func() {
		if client, err := holder.Dial(st.handle.Dir, st.handle.Nonce); err == nil {
			_ = client.End(st.handle.Arm, 0)
			_ = client.Close()
		}
		process.Sweep(st.handle.Arm)
		_ = holder.AwaitGuard(st.handle.Dir)
	})
	if st.pipe, err = os.OpenFile(fifo, os.O_WRONLY, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.pipe.Close() })
	return st, s.(*session)
}

// say makes the program print data, and returns when the session has read it.
func (st *stage) say(s *session, data []byte) {
	st.t.Helper()
	if _, err := st.pipe.Write(data); err != nil {
		st.t.Fatal(err)
	}
	st.said = append(st.said, data...)
	st.await("the output has been read", func() bool { return position(s) == int64(len(st.said)) })
	s.snapshots.Wait()
}

func (st *stage) await(what string, there func() bool) {
	st.t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for !there() {
		select {
		case <-look.C:
		case <-deadline.C:
			st.t.Fatalf("%s: not in time", what)
		}
	}
}

func position(s *session) int64 {
	r, unlock := s.live.lock()
	defer unlock()
	return r.End()
}

// crash ends a session like a kill -9 of its process.
func crash(s *session) {
	s.snapshots.Stop()
	s.cancel()
	_ = s.client.Close()
	<-s.done
}

func (st *stage) attach() *session {
	st.t.Helper()
	s, err := st.h.Attach(context.Background(), st.handle)
	if err != nil {
		st.t.Fatal(err)
	}
	return s.(*session)
}

// same fails unless the session's screen equals the wanted screen in every cell and mode.
func (st *stage) same(s *session, what string, want *pty.Core) {
	st.t.Helper()
	st.await(what, func() bool { return position(s) == int64(len(st.said)) })
	r, unlock := s.live.lock()
	defer unlock()
	if diff := differ(r.Core(), want); diff != "" {
		st.t.Fatalf("%s: %s", what, diff)
	}
	if !bytes.Equal(r.Core().Snapshot(), want.Snapshot()) {
		st.t.Fatalf("%s: the screens show the same, but keep something else behind it", what)
	}
}

// whole returns a screen that has read all output of the program.
func (st *stage) whole(cols, rows int) *pty.Core {
	c := pty.New(cols, rows)
	_, _ = c.Write(st.said)
	c.Replies()
	c.Notices()
	return c
}

// differ describes the first difference between two screens, or returns "".
func differ(got, want *pty.Core) string {
	g, w := got.View(), want.View()
	if fmt.Sprint(g) != fmt.Sprint(w) {
		return fmt.Sprintf("the screen is\n%v\nwant\n%v", g, w)
	}
	for y := range w.Rows {
		for x := range w.Cols {
			if a, b := got.Cell(x, y), want.Cell(x, y); a != b {
				return fmt.Sprintf("the cell at %d, %d is %+v, want %+v", x, y, a, b)
			}
		}
	}
	if a, b := strings.Join(got.History(reading.HistoryRows), "\n"),
		strings.Join(want.History(reading.HistoryRows), "\n"); a != b {
		return "what scrolled off differs"
	}
	return ""
}

// recorded is how many bytes of traffic come from a recording. The number is small because a
// session reads every frame of a recording, which takes time.
const recorded = 500_000

// traffic returns output of the given size. It consists of plain lines, and of a repeated recording at the
// end, which is cut off. With the race detector and with -short, fewer of the lines are shown on the screen,
// because this takes long.
func traffic(t *testing.T, name string, most int) (data []byte, cols, rows int) {
	t.Helper()
	cast := casttest.Cast(t, name)
	unseen := ""
	if casttest.Raced || testing.Short() {
		unseen = "\x1b_" + strings.Repeat("x", 1000) + "\x1b\\"
	}
	data = make([]byte, 0, most+recorded)
	for n := 0; len(data) < most-recorded; n++ {
		data = fmt.Appendf(data, "line %d, \x1b[3%dmof some colour\x1b[m and %x\r\n%s", n, n%8, n*n, unseen)
	}
	for len(data) < most {
		for _, e := range cast.Events {
			if e.Kind == pty.CastOutput {
				data = append(data, e.Data...)
			}
		}
	}
	return data[:most], cast.Cols, cast.Rows
}
