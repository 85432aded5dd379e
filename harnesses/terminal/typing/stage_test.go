package typing

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/reading"
	"coleo.dev/harnesses/terminal/rules"
	"coleo.dev/timelimit"
)

// patience limits each wait of these tests, in fake time. A wait ends as soon as its condition
// holds.
const patience = 60 * time.Second

// stageSpec describes a program with a composer.
const stageSpec = `name = "stage"
command = "stage"
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

// stage is a fake program in memory, and the Typist that types into it. The program prints the text
// of the test and stores the typed keys. The stage runs in a synctest bubble, in which time passes
// only while all goroutines wait.
type stage struct {
	t    *testing.T
	show *show
	*Typist
}

// setStage starts a program with a screen of that size, in cells.
func setStage(t *testing.T, described string, cols, rows int) *stage {
	t.Helper()
	st := setStageOn(t, described, cols, rows)
	st.show.reader.SetFromStart()
	return st
}

// setStageOn is like setStage, but the program was started before the Reader was created.
func setStageOn(t *testing.T, described string, cols, rows int) *stage {
	t.Helper()
	spec, err := rules.ParseSpec("stage.toml", []byte(described))
	if err != nil {
		t.Fatal(err)
	}
	s := &show{looked: make(chan struct{})}
	s.reader = reading.New(spec, cols, rows, time.Now(), s.changed)
	return &stage{t: t, show: s, Typist: New(s, spec)}
}

// say makes the program print output.
func (st *stage) say(output string) {
	st.show.print(output)
	synctest.Wait()
}

// State returns the last reading.
func (st *stage) State() coleo.Reading { return peek(st.show, (*reading.Reader).Reading) }

// await waits until a condition holds.
func (st *stage) await(what string, reached func() bool) {
	st.t.Helper()
	for end := time.Now().Add(patience); !reached(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			st.t.Fatalf("%s: not in time; the screen is\n%s", what, strings.Join(st.show.lines(), "\n"))
		}
	}
}

// awaitState waits until the Reader reads a state.
func (st *stage) awaitState(state coleo.State) {
	st.t.Helper()
	st.await("it reads "+string(state), func() bool { return st.State().State == state })
}

// typed returns the keys that the program has received.
func (st *stage) typed() string {
	st.show.mu.Lock()
	defer st.show.mu.Unlock()
	return st.show.typed
}

// show is the View of a program in memory.
type show struct {
	mu     sync.Mutex
	reader *reading.Reader
	looked chan struct{}
	typed  string
	cursor coleo.Cursor
	dead   bool
}

// changed counts the changes. The Reader calls it while mu is locked.
func (s *show) changed(coleo.Change) { s.cursor++ }

func (s *show) lines() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reader.Core().View().Lines
}

// print feeds output to the screen, like a session.
func (s *show) print(output string) {
	s.mu.Lock()
	now := time.Now()
	for p := []byte(output); len(p) > 0; {
		n, whole := s.reader.Feed(p, now)
		if p = p[n:]; whole && len(p) > 0 {
			s.look(now)
		}
	}
	s.mu.Unlock()
	s.lookAgain()
}

// end ends the program.
func (s *show) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reader.Ended(time.Now(), coleo.RuleProcess, 0, "exit status 0")
	s.dead = true
	s.wake()
}

// look looks at the screen, and returns when to look again. The caller must hold mu.
func (s *show) look(now time.Time) time.Duration {
	next := s.reader.Look(now)
	if s.reader.UntilWhole(now) == 0 {
		s.wake()
	}
	return next
}

func (s *show) wake() {
	close(s.looked)
	s.looked = make(chan struct{})
}

// lookAgain looks at the screen until no further look is due.
func (s *show) lookAgain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dead {
		return
	}
	if wait := s.look(time.Now()); wait < reading.IdleLook {
		time.AfterFunc(wait, s.lookAgain)
	}
}

func (s *show) Still(ctx context.Context, check Check) (At, error) {
	for began := time.Now(); ; {
		now := time.Now()
		at, whole, err := s.check(now, check)
		if transient := (TransientError{}); whole && (!errors.As(err, &transient) || now.Sub(began) >= time.Second) {
			return at, err
		}
		if err := at.Wait(ctx); err != nil {
			return at, err
		}
	}
}

func (s *show) check(now time.Time, check Check) (at At, whole bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.look(now)
	at = At{Offset: s.reader.End(), Cursor: s.cursor, UpdateOpen: s.reader.UpdateOpen(), Looked: s.looked}
	if s.reader.UntilWhole(now) > 0 {
		return at, false, nil
	}
	return at, true, check(s.reader)
}

func (s *show) Await(ctx context.Context, limit time.Duration, ok func(*reading.Reader) bool) bool {
	for end := time.After(limit); ; {
		s.mu.Lock()
		hit, looked, dead := ok(s.reader), s.looked, s.dead
		s.mu.Unlock()
		if hit || dead {
			return hit
		}
		select {
		case <-looked:
		case <-end:
			s.mu.Lock()
			defer s.mu.Unlock()
			return ok(s.reader)
		case <-ctx.Done():
			return false
		}
	}
}

func (s *show) Update(change func(*reading.Reader) bool) {
	s.mu.Lock()
	look := change(s.reader)
	s.mu.Unlock()
	if look {
		s.lookAgain()
	}
}

func (s *show) Write(ctx context.Context, k Keys) (bool, error) {
	if err := timelimit.Check(ctx); err != nil {
		return false, CallerGoneError{err}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if k.IfSeen && k.Seen != s.reader.End() {
		return false, nil
	}
	if !k.Inside {
		s.reader.NoteKeys(k.Data)
	}
	s.typed += string(k.Data)
	return true, nil
}
