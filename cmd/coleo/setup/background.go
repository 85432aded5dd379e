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
	"coleo.dev/store/lock"
	"coleo.dev/wholefile"
)

// This file starts serve and the host agent in the background.

const (
	// readyTimeout is how long await waits until serve or the host agent is ready.
	readyTimeout = 30 * time.Second
	// rivalTime is how long await looks for a rival after the process that the caller started has ended. A rival
	// is another process of the same verb, which was started first. The later process finds the rival and ends by
	// itself.
	rivalTime = time.Second
	// pollEvery is the time between two checks of a background process.
	pollEvery = 50 * time.Millisecond
)

// Start starts serve and the host agent if they do not run. It returns the names of the
// processes that it has started.
func (s Setup) Start(ctx context.Context) ([]string, error) { return s.startParts(ctx, true) }

// StartServe is like Start, but does not start a host agent.
func (s Setup) StartServe(ctx context.Context) ([]string, error) { return s.startParts(ctx, false) }

func (s Setup) startParts(ctx context.Context, hostAgent bool) ([]string, error) {
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
		start       launching
		ready       func(context.Context) bool
	}{
		{"serve", "serve", s.serveLaunching(), s.ServeAnswers},
		{"agent", "a host agent", launching{args: []string{"agent", "start"}}, s.HostAgentAnswers},
	} {
		if part.name == "agent" && !hostAgent || part.ready(ctx) {
			continue
		}
		startedOne, err := s.startOne(ctx, part.name, part.start, part.ready)
		if startedOne {
			started = append(started, part.title)
		}
		if err != nil {
			return nil, err
		}
	}
	return started, nil
}

// startOne starts the background process of a verb, unless that process already runs. It waits
// until the process is ready, and reports whether it has started a process.
//
// The running process may be just about to end. In that case, startOne waits for its end and starts
// a new one.
func (s Setup) startOne(ctx context.Context, name string, start launching,
	ready func(context.Context) bool) (startedOne bool, err error) {
	for err = errEnded; errors.Is(err, errEnded); {
		var ended <-chan struct{}
		if _, runs := s.Process(name); !runs && !s.databaseHeld(name) {
			if _, ended, err = s.launch(name, start); err != nil {
				return startedOne, err
			}
			startedOne = true
		}
		err = s.await(ctx, name, ended, ready)
	}
	return startedOne, err
}

// databaseHeld reports whether a process has the verb's database open.
func (s Setup) databaseHeld(name string) bool {
	path, ok := map[string]string{"serve": s.ServeDB(), "agent": s.HostDB()}[name]
	return ok && lock.Held(path)
}

// lockStart takes a lock, so that only one process at a time starts background
// processes. It waits until the lock is free.
func (s Setup) lockStart() (unlock func(), err error) {
	if unlock, err = wholefile.Lock(filepath.Join(s.State, "up.lock")); err != nil {
		return nil, fmt.Errorf("take turns: %w", err)
	}
	return unlock, nil
}

// launching describes the start of a background process.
type launching struct {
	args  []string
	input string // the text that the process reads from standard input
}

// NotifyFromInput is the hidden flag with which serve reads a notification command from standard
// input. The command is not an argument of serve, because it can contain a secret, and all users
// of the machine can see arguments.
const NotifyFromInput = "notify-from-input"

// serveLaunching describes the start of serve in the background. It passes serve the notification command if
// this process has one from a flag. Serve reads everything else from config.toml.
func (s Setup) serveLaunching() launching {
	if s.GivenNotify == "" {
		return launching{args: []string{"serve"}}
	}
	return launching{[]string{"serve", "--" + NotifyFromInput}, s.GivenNotify}
}

// launch runs `coleo` in a new process, which continues when this process ends. The returned
// channel is closed when the new process has ended.
func (s Setup) launch(name string, start launching) (pid int, ended <-chan struct{}, err error) {
	program, err := executable.Path()
	if err != nil {
		return 0, nil, err
	}
	log, err := os.OpenFile(s.logFile(name), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return 0, nil, fmt.Errorf("open the log: %w", err)
	}
	defer log.Close()
	cmd := exec.Command(program, start.args...)
	cmd.Stdout, cmd.Stderr = log, log
	if start.input != "" {
		cmd.Stdin = strings.NewReader(start.input)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return 0, nil, fmt.Errorf("start %s: %w", name, err)
	}
	done := make(chan struct{})
	go func() { defer close(done); _ = cmd.Wait() }()
	return cmd.Process.Pid, done, nil
}

func (s Setup) logFile(name string) string { return filepath.Join(s.Logs(), name+".log") }

// errEnded means that a background process has ended: a rival, or a process that was already running. await
// returns another error for a process that its caller has started.
var errEnded = errors.New("it has ended")

// await waits until the background process of a verb is ready. If the caller has started that
// process, the caller must pass a channel that is closed when the process ends. If the process was
// already running, the channel is nil.
//
// A process that the caller has started can end early because of a rival. A rival is another
// process of the same verb that was started first:
//   - If there is a rival, await waits until the rival is ready.
//   - If there is no rival within rivalTime, await returns EUnavailable with the end of
//     the log.
//
// await returns errEnded if the rival ends, or if a process ends that was already running.
func (s Setup) await(ctx context.Context, name string, started <-chan struct{},
	ready func(context.Context) bool) error {
	ended := started
	deadline := time.Now().Add(readyTimeout)
	var endedAt time.Time // the time when the started process ended; zero while it runs
	rival := false        // whether another process of this verb was started first
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

// LogTail returns the last five lines of a background process's log.
func (s Setup) LogTail(name string) string {
	raw, err := os.ReadFile(s.logFile(name))
	if err != nil {
		return err.Error()
	}
	const most = 5
	lines := strings.Split(strings.TrimSpace(string(raw)), "\n")
	return strings.Join(lines[max(0, len(lines)-most):], "\n")
}
