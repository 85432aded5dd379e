package pane

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/holder/process"
)

// record returns the record that Run writes when it has taken an order. In this record, the arm's
// process is in the place of Run's own process.
func (s *stage) record(id string) Record {
	s.t.Helper()
	arm, err := process.Identify(s.arm.Process.Pid)
	if err != nil {
		s.t.Fatal(err)
	}
	return Record{ID: id, Terminal: asTerminal, Title: "coleo:one", Process: arm, Began: time.Now().UTC()}
}

// The caller gives up when the program in the window has just taken its order. The window exists, so Coleo must not
// report it as failed, and must refuse a second window.
func TestAWindowWhoseOrderWasTakenIsOpen(t *testing.T) {
	s := newStage(t)
	script := "#!/bin/sh\necho $$ >" + s.path("terminal") + "\nmv " + s.path(orderFile) + " " + s.path("taken") +
		"\nexec sleep 600\n"
	if err := os.Remove(s.path(asTerminal)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.path(asTerminal), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	w, err := s.shown.Begin(coleo.WindowPlace{Terminal: asTerminal, Name: "one"}, s.dir)
	if err != nil {
		t.Fatal(err)
	}
	ctx, giveUp := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- s.shown.Finish(ctx, w, os.Environ(), Order{Argv: []string{"sleep", "600"}, Workdir: s.dir})
	}()
	var o Order
	for found := false; !found; time.Sleep(time.Millisecond) {
		found, _ = load(s.path("taken"), &o)
	}
	giveUp()
	if err := s.record(o.ID).write(s.dir); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil || s.shown.Window().State != coleo.WindowOpen {
		t.Errorf("the window is told as %+v, %v", s.shown.Window(), err)
	}
	if _, err := s.shown.Begin(coleo.WindowPlace{Terminal: asTerminal, Name: "one"}, s.dir); coleo.ErrorCode(err) !=
		coleo.EConflict {
		t.Errorf("a second window: %v, want %s", err, coleo.EConflict)
	}
	s.kill("terminal", syscall.SIGKILL)
}

// The next session looks for the window at the moment when the program in the window takes its order. The session must
// not take the record of an earlier window for the newest one. A pipe in place of the record makes the session wait
// while it reads the record.
func TestAWindowThatOpensDuringResumeIsFound(t *testing.T) {
	s := newStage(t)
	if err := writeOrder(s.dir, Order{ID: "new", Terminal: asTerminal, Title: "coleo:one"}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(s.dir, recordFile)
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	resumed := make(chan bool)
	go func() {
		defer close(resumed)
		s.shown.Resume()
	}()
	pipe, err := os.OpenFile(path, os.O_WRONLY, 0) // waits until Resume reads the record
	if err != nil {
		t.Fatal(err)
	}
	if _, err := takeOrder(s.dir); err != nil {
		t.Fatal(err)
	}
	if err := s.record("new").write(s.dir); err != nil {
		t.Fatal(err)
	}
	earlier := s.record("earlier")
	earlier.Ended, earlier.How = time.Now(), EndLeft
	if err := json.NewEncoder(pipe).Encode(earlier); err != nil {
		t.Fatal(err)
	}
	if err := pipe.Close(); err != nil {
		t.Fatal(err)
	}
	<-resumed
	if w := s.shown.Window(); w.State != coleo.WindowOpening && w.State != coleo.WindowOpen {
		t.Fatalf("the window is told as %+v", w)
	}
	s.tells(coleo.WindowOpen)
}
