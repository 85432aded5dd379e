package terminal

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/past"
	"coleo.dev/harnesses/terminal/rules"
	"coleo.dev/holder/process"
	"coleo.dev/waitfor"
)

// drawer is a program under a real holder. It draws one text at its start, and another text at each
// SIGWINCH. It counts the signals.
type drawer struct {
	t      *testing.T
	counts string
}

// setDrawer starts a drawer and its session. `keys` are the top-level keys of the drawer's Spec.
func setDrawer(t *testing.T, keys, first, then string) (*drawer, *session) {
	t.Helper()
	described := strings.Replace(stageSpec, "[launch.permission]", keys+"[timing]\nstart_ms = 300\nunknown_ms = 300\n"+
		"[launch.permission]", 1)
	spec, err := rules.ParseSpec("drawer.toml", []byte(described))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	d := &drawer{t: t, counts: filepath.Join(dir, "counts")}
	program := filepath.Join(dir, "drawer")
	script := "#!/bin/sh\nstty raw -echo\n" +
		"trap 'echo x >>" + d.counts + `; printf "` + then + `"' WINCH` + "\n" +
		`printf "` + first + `"` + "\nwhile :; do sleep 1000 & wait $!; done\n"
	if err := os.WriteFile(program, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	s, err := New(spec, Hooks{}, []string{os.Args[0], asHolder}, NewShared()).Spawn(t.Context(), coleo.SpawnConfig{
		Arm: filepath.Base(filepath.Dir(dir)) + filepath.Base(dir), Generation: 1, Nonce: "n1",
		Dir: filepath.Join(dir, "hold"), Workdir: dir, Binary: program, Environ: os.Environ(), Cols: 40, Rows: 10,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.Kill(context.Background())
		_ = s.Close()
		process.Sweep(s.Handle().Arm)
	})
	return d, s.(*session)
}

// signals returns the number of signals that the program has received.
func (d *drawer) signals() int {
	text, _ := os.ReadFile(d.counts)
	return strings.Count(string(text), "x")
}

// awaitChange returns the first change of the given kind, and the kinds of the changes before it.
func (d *drawer) awaitChange(s *session, kind coleo.ChangeKind) (c coleo.Change, before []coleo.ChangeKind) {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), patience)
	defer cancel()
	for c := range s.Changes(ctx, 0) {
		if c.Kind == kind {
			return c, before
		}
		before = append(before, c.Kind)
	}
	d.t.Fatalf("no change of the kind %s; there were %v", kind, before)
	return c, nil
}

func (d *drawer) awaitIdle(s *session) {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), patience)
	defer cancel()
	if _, err := waitfor.Idle(ctx, s); err != nil {
		d.t.Fatal(err)
	}
}

const (
	cleared = `\033[2J\033[H`
	garbled = cleared + "garbled"
	drawn   = cleared + `> \r\n----\033[1;3H`
)

func TestAPictureThatNoRuleKnowsIsRedrawnBeforeItIsTold(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"signal", "rows", "columns"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			d, s := setDrawer(t, "redraw = \""+way+"\"\n", garbled, drawn)
			c, before := d.awaitChange(s, coleo.ChangeRedraw)
			d.awaitIdle(s)
			for _, kind := range before {
				if kind == coleo.ChangeUnrecognised {
					t.Errorf("the picture was told before it was redrawn: %v", before)
				}
			}
			if !strings.Contains(c.Note, "redrawn once, because no rule knew the screen") {
				t.Errorf("the note is %q", c.Note)
			}
			if x := s.Explain(); !strings.Contains(x.Redrawn, "because no rule knew the screen") {
				t.Errorf("it is explained by %q", x.Redrawn)
			}
			if v := s.Screen(); v.Cols != 40 || v.Rows != 10 {
				t.Errorf("the size is %dx%d, want the size from before", v.Cols, v.Rows)
			}
		})
	}
}

// To make a program draw again, Coleo gives it a smaller size for a moment. A slow program checks its size
// late. It must still find the smaller size, because it draws nothing for a size that it already has.
func TestASlowProgramSeesBothSizes(t *testing.T) {
	t.Parallel()
	late := `$(sleep 0.6; [ "$(stty size)" = "10 40" ] || printf "` + drawn + `")`
	d, s := setDrawer(t, "redraw = \"rows\"\n", garbled, late)
	d.awaitChange(s, coleo.ChangeRedraw)
	d.awaitIdle(s)
}

func TestAPictureIsRedrawnAtMostOnce(t *testing.T) {
	t.Parallel()
	d, s := setDrawer(t, "redraw = \"signal\"\n", garbled, garbled)
	d.awaitChange(s, coleo.ChangeRedraw)
	d.awaitChange(s, coleo.ChangeUnrecognised)
	if n := d.signals(); n != 1 {
		t.Errorf("the program had %d signals, want 1", n)
	}
	if x := s.Explain(); !strings.Contains(x.Redrawn, "the screen did not change") {
		t.Errorf("it is explained by %q", x.Redrawn)
	}
}

// Another program may write over the picture, as a sound library does with OpenCode. Coleo then makes the
// agent CLI draw again, which needs no key. An interrupt must wait for this redraw instead of being refused.
func TestAnInterruptWaitsForTheRedraw(t *testing.T) {
	t.Parallel()
	d, s := setDrawer(t, "redraw = \"signal\"\n[capabilities]\ninterrupt = true\n", drawn, drawn)
	d.awaitIdle(s)
	if err := d.print(s, "\x1b[2Jno sound card"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for !strings.Contains(strings.Join(s.Screen().Lines, "\n"), "no sound card") && ctx.Err() == nil {
		runtime.Gosched()
	}
	if out, err := s.Interrupt(ctx); err != nil || d.signals() == 0 {
		t.Errorf("the interrupt: %+v, %v, after %d signals; want it done after a redraw", out, err, d.signals())
	}
}

// While somebody watches, nothing may be redrawn, because the terminal would flicker. While somebody types,
// nothing may be redrawn, because the keys would meet a changing picture.
func TestNothingIsRedrawnWhileSomebodyWatchesOrTypes(t *testing.T) {
	t.Parallel()
	for name, occupy := range map[string]func(t *testing.T, s *session) (leave func()){
		"watches": func(t *testing.T, s *session) func() {
			out, err := s.Output(t.Context(), 0)
			if err != nil {
				t.Fatal(err)
			}
			return func() { _ = out.Close() }
		},
		"types": func(_ *testing.T, s *session) func() { return s.typist.Pause() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, s := setDrawer(t, "redraw = \"signal\"\n", drawn, drawn)
			d.awaitIdle(s)
			leave := occupy(t, s)
			if err := d.print(s, "\x1b[2J"); err != nil {
				t.Fatal(err)
			}
			if _, before := d.awaitChange(s, coleo.ChangeUnrecognised); len(before) == 0 || d.signals() != 0 {
				t.Errorf("the program had %d signals, want none; changes %v", d.signals(), before)
			}
			leave()
			d.awaitChange(s, coleo.ChangeRedraw) // the redraw follows when nobody watches
			d.awaitIdle(s)
		})
	}
}

// print writes to the program's terminal, like a child process of the program.
func (d *drawer) print(s *session, text string) error {
	tty, err := os.OpenFile(fmt.Sprintf("/proc/%d/fd/0", s.handle.Process.PID), os.O_WRONLY|syscall.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	defer tty.Close()
	_, err = tty.WriteString(text)
	return err
}

// If a host agent is killed in the middle of a redraw, the terminal keeps the size that Coleo has set for the
// redraw. The next session must restore the size from before the redraw.
func TestTheNextSessionRestoresTheSizeOfABrokenRedraw(t *testing.T) {
	t.Parallel()
	st, s := setStage(t, 80, 24, 0)
	kept := past.FolderOf(s.Handle())
	if err := kept.KeepSize(past.Size{Cols: 80, Rows: 24}); err != nil {
		t.Fatal(err)
	}
	if err := s.resize(past.Size{Cols: 80, Rows: 23}); err != nil {
		t.Fatal(err)
	}
	next := st.attach()
	st.await("the size is restored", func() bool { v := next.Screen(); return v.Cols == 80 && v.Rows == 24 })
	if size, ok := kept.KeptSize(); ok {
		t.Errorf("the size %+v is still kept", size)
	}
	other := next.Handle()
	other.Nonce = "of another generation"
	if err := past.FolderOf(other).KeepSize(past.Size{Cols: 40, Rows: 10}); err != nil {
		t.Fatal(err)
	}
	if size, ok := kept.KeptSize(); ok {
		t.Errorf("the size %+v of another generation counts", size)
	}
}

// While a redraw waits for the program, a person can attach and give the terminal another size. The redraw
// must then end, because nobody can type during a redraw. The terminal must get the size that the person
// wants.
func TestASizeDuringARedrawEndsTheRedraw(t *testing.T) {
	t.Parallel()
	may := filepath.Join(t.TempDir(), "may")
	slow := `$(while [ ! -e ` + may + ` ]; do sleep 0.01; done)` + drawn
	d, s := setDrawer(t, "redraw = \"rows\"\n", garbled, slow)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for d.signals() == 0 && ctx.Err() == nil {
		runtime.Gosched()
	}
	if err := s.Resize(ctx, 60, 20); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(may, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	d.awaitChange(s, coleo.ChangeRedraw)
	s.typist.Pause()()
	for size := (past.Size{}); size != (past.Size{Cols: 60, Rows: 20}) && ctx.Err() == nil; runtime.Gosched() {
		v := s.Screen()
		size = past.Size{Cols: v.Cols, Rows: v.Rows}
	}
	if ctx.Err() != nil {
		t.Errorf("the screen is %v, want the size of the person", s.Screen())
	}
}
