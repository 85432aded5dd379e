package setup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"coleo.dev"
	"coleo.dev/cmd/coleo/executable"
	"coleo.dev/store"
)

const (
	// readyTimeout bounds how long serve and the host agent may take to be ready.
	readyTimeout = 30 * time.Second
	// rivalTime bounds the wait for a rival. A started process may end because another
	// process was first. The other process has this time to record its identity.
	rivalTime = time.Second
	// pollEvery is the time between two checks of a background process.
	pollEvery = 50 * time.Millisecond
)

// Start starts the processes that do not run yet, and returns their names.
func (s Setup) Start(ctx context.Context) ([]string, error) {
	if err := s.Prepare(); err != nil {
		return nil, err
	}
	if err := s.ServeStopped(); err != nil {
		return nil, err
	}
	unlock, err := s.lockStart()
	if err != nil {
		return nil, err
	}
	defer unlock()
	var started []string
	if other := s.ServeVersion(ctx); other != "" && other != executable.Version {
		fmt.Fprintf(os.Stderr,
			"coleo: note: serve runs version %s, this is %s: 'coleo down' and 'coleo up' start this one; "+
				"the arms continue to run\n", other, executable.Version)
	}
	for _, part := range []struct {
		name, title string
		args        []string
		ready       func(context.Context) bool
	}{
		{"serve", "serve", s.serveArgs(), s.ServeAnswers},
		{"agent", "a host agent", []string{"agent", "start"}, s.HostAgentAnswers},
	} {
		if part.ready(ctx) {
			continue
		}
		startedOne, err := s.startOne(ctx, part.name, part.args, part.ready)
		if startedOne {
			started = append(started, part.title)
		}
		if err != nil {
			return nil, err
		}
	}
	return started, nil
}

// startOne starts one of Coleo's own verbs, unless it is already starting, and waits until
// it is ready. If an old process is still ending, or the process is killed meanwhile,
// startOne waits for its end. Then it starts another one.
func (s Setup) startOne(ctx context.Context, name string, args []string,
	ready func(context.Context) bool) (startedOne bool, err error) {
	for err = errEnded; errors.Is(err, errEnded); {
		var ended <-chan struct{}
		if _, runs := s.Process(name); !runs && !s.databaseHeld(name) {
			if _, ended, err = s.launch(name, args...); err != nil {
				return startedOne, err
			}
			startedOne = true
		}
		err = s.await(ctx, name, ended, ready)
	}
	return startedOne, err
}

// databaseHeld reports whether a process has the database of one of Coleo's own verbs
// open.
func (s Setup) databaseHeld(name string) bool {
	path, ok := map[string]string{"serve": s.ServeDB(), "agent": s.HostDB()}[name]
	return ok && store.Held(path)
}

// lockStart waits until no other process is starting something here.
func (s Setup) lockStart() (unlock func(), err error) {
	if unlock, err = Lock(filepath.Join(s.State, "up.lock")); err != nil {
		return nil, fmt.Errorf("take turns: %w", err)
	}
	return unlock, nil
}

// serveArgs returns the command line of serve in the background.
func (s Setup) serveArgs() []string {
	if s.Notify == "" {
		return []string{"serve"}
	}
	return []string{"serve", "--notify", s.Notify}
}

// launch starts one of Coleo's own verbs as a process that outlives this one. The
// channel ended is closed when that process has ended.
func (s Setup) launch(name string, args ...string) (pid int, ended <-chan struct{}, err error) {
	program, err := executable.Path()
	if err != nil {
		return 0, nil, err
	}
	log, err := os.OpenFile(s.logFile(name), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return 0, nil, fmt.Errorf("open the log: %w", err)
	}
	defer log.Close()
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return 0, nil, fmt.Errorf("start %s: %w", name, err)
	}
	done := make(chan struct{})
	go func() { defer close(done); _ = cmd.Wait() }()
	return cmd.Process.Pid, done, nil
}

func (s Setup) logFile(name string) string { return filepath.Join(s.Logs(), name+".log") }

// errEnded is the error for the end of a process that was already running.
var errEnded = errors.New("it has ended")

// await waits until a background process is ready. started is closed when the process
// that the caller has started ends. It is nil if the process was already running.
//
// If the started process ends before it is ready, await returns EUnavailable with the end
// of its log, unless another process was first. await returns errEnded at the end of a
// process that was already running, or of the other process that was first.
func (s Setup) await(ctx context.Context, name string, started <-chan struct{},
	ready func(context.Context) bool) error {
	ended := started
	deadline := time.Now().Add(readyTimeout)
	var endedAt time.Time // when the started process ended; zero while it runs
	rival := false        // another process was first
	for !ready(ctx) {
		_, runs := s.Process(name)
		held := !runs && (started == nil || !endedAt.IsZero()) && s.databaseHeld(name)
		rival = rival || held
		switch alive := runs || held; {
		case !alive && (started == nil || rival):
			return errEnded
		case !alive && !endedAt.IsZero() && time.Since(endedAt) > rivalTime:
			return coleo.Errorf(coleo.EUnavailable, "%s ended at its start; the end of its log %s:\n%s",
				name, s.logFile(name), s.LogTail(name))
		}
		if name != "serve" {
			if _, serves := s.Process("serve"); !serves {
				return coleo.Errorf(coleo.EUnavailable, "serve ended while %s started; the end of its log %s:\n%s",
					name, s.logFile("serve"), s.LogTail("serve"))
			}
		}
		if time.Now().After(deadline) {
			return coleo.Errorf(coleo.EUnavailable, "%s was not ready within %s; the end of its log %s:\n%s",
				name, readyTimeout, s.logFile(name), s.LogTail(name))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ended:
			endedAt, ended = time.Now(), nil
		case <-time.After(pollEvery):
		}
	}
	return nil
}

// LogTail returns the last lines of the log of a background process.
func (s Setup) LogTail(name string) string {
	raw, err := os.ReadFile(s.logFile(name))
	if err != nil {
		return err.Error()
	}
	const most = 5
	lines := strings.Split(strings.TrimSpace(string(raw)), "\n")
	return strings.Join(lines[max(0, len(lines)-most):], "\n")
}
