package server

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"sync"
	"time"

	"coleo.dev"
	"coleo.dev/bus/busserver"
	"coleo.dev/cmd/coleo/executable"
	"coleo.dev/cmd/coleo/model"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/worktrees"
	"coleo.dev/config"
	"coleo.dev/cost"
	"coleo.dev/host"
	"coleo.dev/host/armfolder"
	"coleo.dev/pricebook"
	"coleo.dev/store"
)

// localHost is serve in its role as host local, the host of arms without a host agent. It runs the
// host agent's code in serve's process, with a database of its own. If host local has had arms
// before, it starts with serve. Otherwise it starts on its first order.
type localHost struct {
	setup  setup.Setup
	config host.Config // the part of the configuration that host local shares with a host agent
	bus    *busserver.Server
	log    *slog.Logger
	life   context.Context // ends when serve ends

	mu   sync.Mutex
	last *localRun // the newest run; nil before the first run
	runs sync.WaitGroup
}

// localRun is one run of host local.
type localRun struct {
	ready chan struct{} // closed as soon as host local can carry out orders
	ended chan struct{} // closed when the run has ended
	err   error         // why the run ended; nil if serve ended it; valid after `ended` is closed
}

// start starts host local, the part of serve that drives arms without a host agent. If host local already runs, start
// only waits until host local has attached to its arms and can execute orders. If the run or ctx ends before that,
// start returns an error.
func (l *localHost) start(ctx context.Context) error {
	if l.life.Err() != nil {
		return errServeEnds()
	}
	l.mu.Lock()
	if l.last == nil || hasEnded(l.last) {
		run := &localRun{ready: make(chan struct{}), ended: make(chan struct{})}
		l.last = run
		l.runs.Go(func() {
			defer close(run.ended)
			if run.err = l.run(run.ready); run.err != nil {
				l.log.Error("drive arms without a host agent", "error", run.err)
			}
		})
	}
	run := l.last
	l.mu.Unlock()
	select {
	case <-run.ready:
		return nil
	case <-run.ended:
		if run.err == nil {
			return errServeEnds()
		}
		return run.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func errServeEnds() error { return coleo.Errorf(coleo.EUnavailable, "serve is ending") }

func hasEnded(run *localRun) bool {
	select {
	case <-run.ended:
		return true
	default:
		return false
	}
}

// isNeeded reports whether host local, which is serve itself, has had arms. In this case, host local's log may
// contain events that serve has not read.
func (l *localHost) isNeeded() bool {
	_, err := os.Stat(l.setup.LocalDB())
	return err == nil || armfolder.HasLocal(l.setup.State)
}

// startIfNeeded starts host local, the part of serve that drives arms without a host agent. It does so in the
// background, and only if host local has had arms.
func (l *localHost) startIfNeeded() {
	if l.isNeeded() {
		l.runs.Go(func() { _ = l.start(l.life) }) // start logs the error
	}
}

// wait waits until host local, the part of serve that drives arms without a host agent, has ended. These arms
// continue to run.
func (l *localHost) wait() { l.runs.Wait() }

// run runs host local, the part of serve that drives arms without a host agent, until serve ends. When host
// local can execute orders, run closes `ready`.
func (l *localHost) run(ready chan struct{}) error {
	db, err := store.OpenHost(l.setup.LocalDB())
	if err != nil {
		return openError(err)
	}
	defer db.Close()
	if db.Host() != coleo.LocalHost {
		if err := db.SetHost(l.life, coleo.LocalHost); err != nil {
			return err
		}
	}
	conn, err := l.bus.Dial("serve as host " + coleo.LocalHost)
	if err != nil {
		return err
	}
	defer conn.Close()
	c := l.config
	c.ID, c.DB, c.Bus, c.Log = coleo.LocalHost, db, conn, l.log.With("host", coleo.LocalHost)
	c.Ready = sync.OnceFunc(func() { close(ready) })
	return host.New(c).Run(l.life)
}

// hostConfig returns the configuration that is the same for the host agent and for host local, the part of serve that
// drives arms without a host agent. hostConfig does not set the registry.
func hostConfig(s setup.Setup, now func() time.Time) (host.Config, error) {
	hostname, err := os.Hostname()
	if err != nil {
		return host.Config{}, fmt.Errorf("find the host's name: %w", err)
	}
	program, err := executable.Path()
	if err != nil {
		return host.Config{}, err
	}
	prices := pricebook.NewKeeper(s.OwnPrices(), s.FetchedPrices(), newLog())
	return host.Config{
		Prices: func() cost.Prices { return prices.Book() }, Budgets: s.Budgets(),
		SameCalls: s.Limits.SameCalls,
		Hostname:  hostname, Platform: runtime.GOOS + "/" + runtime.GOARCH, Version: executable.Version,
		Dir: s.State, Path: s.AgentPath(), Environ: os.Environ(), MaxArms: s.Arms.MaxArms, Keep: s.Arms.Keep << 20,
		AllowSudo: s.Arms.AllowSudo, StartedAt: time.Now().UTC(), Now: now,
		Policy: host.PolicyFiles{Host: config.HostPolicy, User: s.PolicyFile(), TrustFile: s.PolicyTrust(),
			GrantFile: s.PolicyGrants()},
		Workspaces:    worktrees.Of(s),
		ScriptedModel: []string{program, model.ScriptedVerb}, ToolServer: []string{program, "mcp", "serve"},
	}, nil
}
