// Package hosted runs one arm as Coleo does. A host agent in this process drives the session, and
// writes the events of the arm's runs to a log, which checks read. The host agent is necessary,
// because a session alone reports work but no runs.
package hosted

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/bus/busserver"
	"coleo.dev/host"
	"coleo.dev/registry"
	"coleo.dev/store"
	"coleo.dev/waitfor"
)

const (
	hostID  = "conformance"
	armName = "judged"
	// endTimeout is how long the end of the arm may take. An agent CLI that ignores signals is
	// killed after some seconds.
	endTimeout = 30 * time.Second
	// eventsAtOnce is how many events are read from the log at once.
	eventsAtOnce = 1000
)

// Config describes where to run an arm, and with which harness.
type Config struct {
	Dir     string // a folder that does not exist yet, for the host agent's files
	Harness coleo.Harness
	Path    []string // folders that are searched first for agent CLIs
	Environ []string // the caller's environment
}

// Arm is an arm that has its own host agent.
type Arm struct {
	config Config
	id     string
	seeing *sessionKeeper
	key    bus.Key // the key with which the host agent connects to the bus
	server *busserver.Server
	serve  *bus.Conn // the connection that gives orders
	log    *os.File

	// These fields belong to the present host agent.
	db   *store.HostDB
	conn *bus.Conn
	stop context.CancelFunc
	done chan error // receives the result of the host agent
}

// Start starts a host agent and an arm with the given configuration. It returns when the agent
// CLI's process is running. The error is ENotInstalled if the agent CLI is missing. If Start
// returns no error, the caller must call Close.
func Start(ctx context.Context, c Config, spawn coleo.SpawnConfig) (*Arm, error) {
	a := &Arm{config: c, id: spawn.Arm, seeing: &sessionKeeper{Harness: c.Harness}}
	err := a.openBus()
	if err == nil {
		err = a.startHost(ctx)
	}
	if err == nil {
		err = a.order(ctx, bus.OpSpawn, bus.SpawnOrder{ID: a.id, Name: armName, Harness: c.Harness.Info().Name,
			Config: spawn, NewID: true}, nil)
	}
	if err != nil {
		return nil, errors.Join(err, a.endHost(), a.closeBus())
	}
	return a, nil
}

// openBus makes the arm's folder and starts the bus in it. It also makes the connection a.serve, over which
// this package gives orders to the host agent.
func (a *Arm) openBus() (err error) {
	if err = os.Mkdir(a.config.Dir, 0o700); err != nil {
		return fmt.Errorf("make the host agent's folder: %w", err)
	}
	if a.log, err = os.Create(filepath.Join(a.config.Dir, "host.log")); err != nil {
		return fmt.Errorf("make the host agent's log: %w", err)
	}
	if a.key, err = bus.NewKey(); err != nil {
		return err
	}
	if a.server, err = busserver.Listen(a.socket(), a.key, nil); err != nil {
		return err
	}
	a.serve, err = a.server.Dial("serve")
	return err
}

func (a *Arm) socket() string { return filepath.Join(a.config.Dir, "bus.sock") }

// startHost starts a host agent. It returns when the host agent can carry out orders. If the arm is
// already running, the host agent first attaches to it.
func (a *Arm) startHost(ctx context.Context) (err error) {
	if a.db, err = store.OpenHost(filepath.Join(a.config.Dir, "host.db")); err != nil {
		return err
	}
	if err = a.db.SetHost(ctx, hostID); err != nil {
		return err
	}
	if a.conn, err = bus.Dial(a.socket(), a.key, "host agent"); err != nil {
		return err
	}
	ready := make(chan struct{})
	h := host.New(host.Config{ID: hostID, Hostname: hostID, Dir: a.config.Dir, Path: a.config.Path, MaxArms: 1,
		Environ: a.config.Environ, StartedAt: time.Now(), Ready: func() { close(ready) }, Registry: registry.Of(a.seeing),
		DB: a.db, Bus: a.conn, Log: slog.New(slog.NewTextHandler(a.log, nil))})
	var running context.Context
	running, a.stop = context.WithCancel(context.Background())
	a.done = make(chan error, 1)
	go func() { a.done <- h.Run(running) }()
	select {
	case <-ready:
		return nil
	case err := <-a.done:
		a.done <- err
		return fmt.Errorf("start a host agent: %w", err)
	case <-ctx.Done():
		return fmt.Errorf("start a host agent: %w", context.Cause(ctx))
	}
}

// Restart ends the host agent and starts another one, which attaches to the arm. After that,
// Session returns a new session object.
func (a *Arm) Restart(ctx context.Context) error {
	if err := a.endHost(); err != nil {
		return fmt.Errorf("end the host agent: %w", err)
	}
	return a.startHost(ctx)
}

func (a *Arm) order(ctx context.Context, op bus.Op, in, out any) error {
	return a.serve.Ask(ctx, hostID, op, in, out)
}

// Session returns the session of the arm. Callers may only read from the session, because only the
// host agent types.
func (a *Arm) Session() coleo.Session { return a.seeing.newest() }

// Prompt sends a prompt, and answers each dialog with the result of `decide`. It returns when the end of the
// prompt's run is in the log.
func (a *Arm) Prompt(ctx context.Context, text string, decide func(coleo.Dialog) coleo.Decision) error {
	var r coleo.Receipt
	if err := a.order(ctx, bus.OpPrompt, bus.PromptOrder{Arm: a.id, Prompt: coleo.Prompt{Text: text}}, &r); err != nil {
		return err
	}
	run := r.ID
	for {
		reading, err := waitfor.Turn(ctx, a.Session(), r)
		if err != nil {
			return err
		}
		if reading.State != coleo.WaitingApproval {
			return a.awaitEnd(ctx, run)
		}
		r.Cursor = waitfor.NewestCursor(a.Session())
		err = a.order(ctx, bus.OpRespond, bus.RespondOrder{Arm: a.id, Dialog: reading.Dialog.Fingerprint,
			Decision: decide(*reading.Dialog)}, nil)
		if err != nil {
			return err
		}
	}
}

// awaitEnd waits until the end of a run is in the log.
func (a *Arm) awaitEnd(ctx context.Context, run string) error {
	for after := uint64(0); ; {
		list, err := a.db.Events(ctx, after, eventsAtOnce)
		if err != nil {
			return err
		}
		for _, e := range list {
			if after = e.Seq; e.Run == run && e.Kind == coleo.EventRunEnd {
				return nil
			}
		}
		if len(list) == 0 {
			if err := a.db.Wait(ctx, after); err != nil {
				return fmt.Errorf("wait for the end of run %s: %w", run, err)
			}
		}
	}
}

// Events returns all events of the arm, in the order of the log.
func (a *Arm) Events(ctx context.Context) ([]coleo.Event, error) {
	var out []coleo.Event
	for after := uint64(0); ; {
		list, err := a.db.Events(ctx, after, eventsAtOnce)
		if err != nil || len(list) == 0 {
			return out, err
		}
		after = list[len(list)-1].Seq
		for _, e := range list {
			if e.Arm == a.id {
				out = append(out, e)
			}
		}
	}
}

// Close ends the arm and the host agent.
func (a *Arm) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), endTimeout)
	defer cancel()
	err := a.order(ctx, bus.OpKill, bus.ArmOrder{Arm: a.id}, nil)
	if err != nil {
		err = fmt.Errorf("end the agent CLI: %w", err)
	}
	return errors.Join(err, a.endHost(), a.closeBus())
}

// endHost ends everything that startHost has started, even if startHost has failed. The arm
// continues to run.
func (a *Arm) endHost() error {
	var errs []error
	if a.done != nil {
		a.stop()
		errs = append(errs, <-a.done)
	}
	if a.conn != nil {
		a.conn.Close()
	}
	if a.db != nil {
		errs = append(errs, a.db.Close())
	}
	a.db, a.conn, a.done = nil, nil, nil
	return errors.Join(errs...)
}

// closeBus ends everything that openBus has started, even if openBus has failed.
func (a *Arm) closeBus() error {
	if a.serve != nil {
		a.serve.Close()
	}
	if a.server != nil {
		a.server.Close()
	}
	if a.log == nil {
		return nil
	}
	return a.log.Close()
}

// sessionKeeper is a harness that stores each session that the host agent opens.
type sessionKeeper struct {
	coleo.Harness

	mu      sync.Mutex
	session coleo.Session
}

func (h *sessionKeeper) Spawn(ctx context.Context, c coleo.SpawnConfig) (coleo.Session, error) {
	return h.note(h.Harness.Spawn(ctx, c))
}

func (h *sessionKeeper) Attach(ctx context.Context, handle coleo.Handle) (coleo.Session, error) {
	return h.note(h.Harness.Attach(ctx, handle))
}

func (h *sessionKeeper) note(s coleo.Session, err error) (coleo.Session, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err == nil {
		h.session = s
	}
	return s, err
}

func (h *sessionKeeper) newest() coleo.Session {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.session
}
