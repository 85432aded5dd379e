package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/bus/bustest"
	"coleo.dev/conformance/fakeagent"
	"coleo.dev/conformance/testprogram"
	"coleo.dev/holder"
	"coleo.dev/holder/process"
	"coleo.dev/registry"
	"coleo.dev/store"
)

func TestMain(m *testing.M) {
	testprogram.Play(os.Args)
	os.Exit(testprogram.Run(m))
}

// patience bounds every wait of these tests. A wait ends as soon as its condition is true.
const patience = 3 * time.Minute

// The pauses between two checks of a condition. They grow, because many tests wait at the same
// time, and a check takes time from the other tests.
const (
	firstPause   = 2 * time.Millisecond
	longestPause = 50 * time.Millisecond
)

// stage is a machine with a real bus and a real database. One host agent after another runs on it.
// Its arms run the fake agent CLI under real holders.
type stage struct {
	t     *testing.T
	dir   string // the state folder; "" for a new folder
	reg   *registry.Registry
	serve *bus.Conn
	bus   *bustest.Bus
	way   string           // the socket through which the host agent reaches the bus
	named string           // the id of the host
	now   func() time.Time // the clock of the host agents; nil for the real clock
	alter func(*Config)    // changes the configuration of each host agent; can be nil
	dbDir string           // folder of the database below dir; "" for dir

	host *Host
	db   *store.HostDB
	conn *bus.Conn
	stop context.CancelFunc
	done chan error

	readings readings // what wholeLog has read
}

const hostID = "host.one"

// reserveBytes is at least the size of the reserve, a file that a host agent fills to keep room for a full
// disk. Most tests give the host agent a sparse file of this size, because filling it would be a twentieth of
// their work.
const reserveBytes = 16 << 20

func newStage(t *testing.T) *stage {
	t.Helper()
	return newStageAt(t, nil)
}

// newStageAt is like newStage, with another clock for the host agents.
func newStageAt(t *testing.T, now func() time.Time) *stage {
	t.Helper()
	return newStageOf(t, "", &stage{now: now})
}

// newStageOf prepares a stage and starts its first host agent. It adds the text `more` to the description of
// the fake agent CLI.
func newStageOf(t *testing.T, more string, s *stage) *stage {
	t.Helper()
	s.t, s.named = t, hostID
	if s.dir == "" {
		s.dir = t.TempDir()
	}
	for _, name := range []string{testprogram.Hold, testprogram.Fake} {
		s.check(os.Symlink(testprogram.Path(), s.path(name)))
	}
	spec, err := os.ReadFile("../cmd/coleo/testdata/fake.toml")
	s.check(err)
	s.check(os.Mkdir(s.path("harnesses"), 0o700))
	s.check(os.WriteFile(s.path("harnesses/fake.toml"), append(spec, more...), 0o600))
	s.reg, err = registry.New(s.path("harnesses"), []string{s.path(testprogram.Hold)})
	s.check(err)
	if s.dbDir == "" { // the test fills no disk, so its reserve needs no room
		reserve := s.path(s.dbFile() + ".reserve")
		s.check(os.WriteFile(reserve, nil, 0o600))
		s.check(os.Truncate(reserve, reserveBytes))
	}
	s.bus = bustest.New(t)
	s.way = s.bus.Path()
	s.serve = s.bus.Serve()
	s.start()
	t.Cleanup(s.end)
	return s
}

func (s *stage) path(name string) string { return filepath.Join(s.dir, name) }

func (s *stage) check(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// start starts a host agent.
func (s *stage) start() {
	s.t.Helper()
	var err error
	s.db, err = store.OpenHost(s.path(s.dbFile()))
	s.check(err)
	s.check(s.db.SetHost(s.t.Context(), s.named))
	s.conn = s.bus.HostBy(s.way)
	c := Config{
		ID: s.named, Hostname: "here", Dir: s.dir, Path: []string{s.dir}, Environ: os.Environ(), MaxArms: 20,
		ToolServer: []string{"/bin/false"}, Now: s.now, Registry: s.reg, DB: s.db, Bus: s.conn,
		Log: slog.New(slog.DiscardHandler),
	}
	if s.alter != nil {
		s.alter(&c)
	}
	s.host = New(c)
	ctx, cancel := context.WithCancel(context.Background())
	s.stop, s.done = cancel, make(chan error, 1)
	go func() { s.done <- s.host.Run(ctx) }()
	s.until("the host agent listens", func() bool { return s.ask(bus.OpList, nil, nil) == nil })
}

// halt ends the host agent. The arms continue to run.
func (s *stage) halt() {
	s.t.Helper()
	s.stop()
	s.check(<-s.done)
	s.conn.Close()
	_ = s.db.Close() // fails if the test has closed it already
}

// restart ends the host agent and starts the next one.
func (s *stage) restart() {
	s.t.Helper()
	s.halt()
	s.start()
}

func (s *stage) end() {
	for _, a := range s.host.allArms() {
		if err := s.ask(bus.OpKill, bus.ArmOrder{Arm: a.record.ID}, nil); err != nil {
			s.t.Errorf("kill arm %s: %v", a.record.Name, err)
		}
	}
	s.halt()
}

// ask gives the host agent an order, as serve does.
func (s *stage) ask(op bus.Op, in, out any) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if in == nil {
		in = struct{}{}
	}
	return s.serve.Ask(ctx, s.named, op, in, out)
}

// must gives an order. The test fails if the order is refused.
func must[T any](s *stage, op bus.Op, in any) T {
	s.t.Helper()
	var out T
	if err := s.ask(op, in, &out); err != nil {
		s.t.Fatalf("%s %+v: %v", op, in, err)
	}
	return out
}

// refused gives an order. The test fails if the order is not refused with the given code.
func (s *stage) refused(want coleo.Code, op bus.Op, in any) {
	s.t.Helper()
	if err := s.ask(op, in, nil); coleo.ErrorCode(err) != want {
		s.t.Errorf("%s %+v = %v (code %q), want code %q", op, in, err, coleo.ErrorCode(err), want)
	}
}

func (s *stage) until(what string, ok func() bool) {
	s.t.Helper()
	deadline, pause := time.Now().Add(patience), firstPause
	for ; !ok(); pause = min(pause*3/2, longestPause) {
		if time.Now().After(deadline) {
			s.t.Fatalf("waited %s until %s", patience, what)
		}
		time.Sleep(pause)
	}
}

// id returns the id of an arm in these tests.
func (s *stage) id(name string) string {
	return filepath.Base(s.dir) + filepath.Base(filepath.Dir(s.dir)) + name
}

// order returns an order to start an arm.
func (s *stage) order(name string) bus.SpawnOrder {
	return bus.SpawnOrder{ID: s.id(name), Name: name, Harness: "fake", NewID: true,
		Config: coleo.SpawnConfig{Workdir: s.dir}}
}

// arm starts an arm, waits until it is idle, and returns its id.
func (s *stage) arm(name string) string {
	s.t.Helper()
	o := s.order(name)
	o.Config.Workdir = s.workdir(name)
	id := must[bus.ArmReport](s, bus.OpSpawn, o).ID
	s.awaitState(id, coleo.Idle)
	return id
}

// workdir creates the work folder of an arm.
func (s *stage) workdir(name string) string {
	s.t.Helper()
	work := s.path("work-" + name)
	s.check(os.MkdirAll(work, 0o700))
	return work
}

func (s *stage) awaitState(id string, want coleo.State) {
	s.t.Helper()
	s.until(fmt.Sprintf("arm %s is %s", id, want), func() bool {
		return must[bus.ArmReport](s, bus.OpReport, bus.ArmOrder{Arm: id}).Reading.State == want
	})
}

func (s *stage) prompt(id, text string) coleo.Receipt {
	s.t.Helper()
	return must[coleo.Receipt](s, bus.OpPrompt, promptOrder(id, text))
}

// events returns the arm's events of the given kind.
func (s *stage) events(id string, kind coleo.EventKind) []coleo.Event {
	s.t.Helper()
	var out []coleo.Event
	for _, e := range s.wholeLog() {
		if e.Arm == id && e.Kind == kind {
			out = append(out, e)
		}
	}
	return out
}

// prompted returns the prompts that the fake agent CLI has received.
func (s *stage) prompted(name string) []string {
	s.t.Helper()
	list, err := fakeagent.ReadRecord(filepath.Join(s.path("work-"+name), fakeagent.RecordFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.t.Fatal(err)
	}
	var out []string
	for _, e := range list {
		if e.Kind == fakeagent.Prompted {
			out = append(out, e.Text)
		}
	}
	return out
}

func promptOrder(id, text string) bus.PromptOrder {
	return bus.PromptOrder{Arm: id, Prompt: coleo.Prompt{Text: text}}
}

// endArm ends an arm while no host agent runs, and waits until its holder has ended.
func (s *stage) endArm(h coleo.Handle) {
	s.t.Helper()
	client, err := holder.Dial(h.Dir, h.Nonce)
	s.check(err)
	s.check(errors.Join(client.End(h.Arm, killGrace), client.Close()))
	s.until("the holder has ended", func() bool { return process.Look(h.Holder) == process.Dead })
}

// openHostDB opens the database of a host that does not run.
func openHostDB(s *stage) (*store.HostDB, error) { return store.OpenHost(s.path(s.dbFile())) }

func (s *stage) dbFile() string {
	if s.named == hostID {
		return filepath.Join(s.dbDir, "host.db")
	}
	return s.named + ".db"
}
