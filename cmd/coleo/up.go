package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/api"
	"coleo.dev/holder"
	"coleo.dev/store"
)

const (
	// upTimeout bounds how long serve and the host agent may take to be ready.
	upTimeout = 30 * time.Second
	// rivalTime bounds the wait for a rival. A started process may end because another
	// process was first. The other process has this time to record its identity.
	rivalTime = time.Second
	// upLook is the time between two checks of a background process.
	upLook = 50 * time.Millisecond
	// probeTimeout bounds one check of serve's socket.
	probeTimeout = 3 * time.Second
)

func newUpCommand() *cobra.Command {
	var showcase, ownLogin bool
	var onWait string
	c := &cobra.Command{
		Use:   "up",
		Short: "Start serve and a host agent in the background",
		Args:  exactly(0, "no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := newSetup()
			if err != nil {
				return err
			}
			if onWait != "" {
				s.Notify = onWait
			}
			if showcase {
				return demonstrate(c, s, ownLogin)
			}
			started, err := s.up(c.Context())
			if err != nil {
				return err
			}
			link, note, err := s.dashboard(c.Context())
			if err != nil {
				return err
			}
			if wantsJSON(c) {
				return printJSON(c, map[string]any{"started": started, "dashboard": link.URL, "expires": link.Expires})
			}
			word := "already up"
			if len(started) > 0 {
				word = "started " + strings.Join(started, " and ")
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "coleo: %s\n%sdashboard: %s\n%s\n", word, s.movedNote(), link.URL, note)
			return err
		},
	}
	c.Flags().StringVar(&onWait, "notify", "",
		"shell command to run when an arm asks something, and when a turn finished, failed or died (COLEO_EVENT, COLEO_ARM_NAME, COLEO_SUBJECT)")
	c.Flags().BoolVar(&showcase, "demo", false,
		"and show two real agent CLIs as arms, with a scripted model unless --own-login is given")
	c.Flags().BoolVar(&ownLogin, "own-login", false,
		"with --demo: use the agent CLIs' own logins and models, which may cost money")
	return c
}

// client returns a client of this user's serve on this machine.
func (s setup) client() (*api.Client, error) {
	return api.NewClient(api.ClientConfig{Socket: s.Socket(), Peer: s.stopped})
}

// stopped returns an error if a signal has stopped serve.
func (s setup) stopped() error {
	if id, runs := s.runs("serve"); runs && holder.Look(id) == holder.Stopped {
		return coleo.Errorf(coleo.EUnavailable, "serve (process %d) is stopped: 'kill -CONT %d' has it go on", id.PID, id.PID)
	}
	return nil
}

// up starts the processes that do not run yet, and returns their names.
func (s setup) up(ctx context.Context) ([]string, error) {
	if err := s.ready(); err != nil {
		return nil, err
	}
	if err := s.stopped(); err != nil {
		return nil, err
	}
	unlock, err := s.oneAtATime()
	if err != nil {
		return nil, err
	}
	defer unlock()
	var started []string
	if other := s.serving(ctx); other != "" && other != version {
		fmt.Fprintf(os.Stderr,
			"coleo: note: serve runs version %s, this is %s: 'coleo down' and 'coleo up' bring them together; the arms live on\n", other, version)
	}
	for _, part := range []struct {
		name, title string
		args        []string
		ready       func(context.Context) bool
	}{
		{"serve", "serve", s.serveArgs(), s.serves},
		{"agent", "a host agent", []string{"agent", "start"}, s.hosts},
	} {
		if part.ready(ctx) {
			continue
		}
		began, err := s.begin(ctx, part.name, part.args, part.ready)
		if began {
			started = append(started, part.title)
		}
		if err != nil {
			return nil, err
		}
	}
	return started, nil
}

// begin starts one of Coleo's own verbs, unless it is already starting, and waits until
// it is ready. If an old process is still ending, or the process is killed meanwhile,
// begin waits for its end. Then it starts another one.
func (s setup) begin(ctx context.Context, name string, args []string,
	ready func(context.Context) bool) (began bool, err error) {
	for err = errEnded; errors.Is(err, errEnded); {
		var ended <-chan struct{}
		if _, runs := s.runs(name); !runs && !s.held(name) {
			if _, ended, err = s.background(name, args...); err != nil {
				return began, err
			}
			began = true
		}
		err = s.await(ctx, name, ended, ready)
	}
	return began, err
}

// held reports whether a process has the database of one of Coleo's own verbs open.
func (s setup) held(name string) bool {
	path, ok := map[string]string{"serve": s.ServeDB(), "agent": s.HostDB()}[name]
	return ok && store.Held(path)
}

// oneAtATime waits until no other process is starting something here.
func (s setup) oneAtATime() (unlock func(), err error) {
	if unlock, err = lockFile(filepath.Join(s.State, "up.lock")); err != nil {
		return nil, fmt.Errorf("take turns: %w", err)
	}
	return unlock, nil
}

// serveArgs returns the command line of serve in the background.
func (s setup) serveArgs() []string {
	if s.Notify == "" {
		return []string{"serve"}
	}
	return []string{"serve", "--notify", s.Notify}
}

// serves reports whether serve answers.
func (s setup) serves(ctx context.Context) bool { return s.serving(ctx) != "" }

// serving returns the version of the serve that answers, or "" if none does.
func (s setup) serving(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	client, err := s.client()
	if err != nil {
		return ""
	}
	found, err := client.Health(ctx)
	if err != nil {
		return ""
	}
	return found
}

// hosts reports whether the host agent of this machine runs and has sent serve a
// heartbeat.
func (s setup) hosts(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	id, runs := s.runs("agent")
	client, err := s.client()
	if err != nil || !runs {
		return false
	}
	list, err := client.Hosts(ctx)
	return err == nil && slices.ContainsFunc(list, func(h coleo.HostInfo) bool { return h.Live && h.PID == id.PID })
}

// background starts one of Coleo's own verbs as a process that outlives this one. The
// channel ended is closed when that process has ended.
func (s setup) background(name string, args ...string) (pid int, ended <-chan struct{}, err error) {
	program, err := self()
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

func (s setup) logFile(name string) string { return filepath.Join(s.Logs(), name+".log") }

// errEnded is the error for the end of a process that was already running.
var errEnded = errors.New("it has ended")

// await waits until a background process is ready. started is closed when the process
// that the caller has started ends. It is nil if the process was already running.
//
// If the started process ends before it is ready, await returns EUnavailable with the end
// of its log, unless another process was first. await returns errEnded at the end of a
// process that was already running, or of the other process that was first.
func (s setup) await(ctx context.Context, name string, started <-chan struct{},
	ready func(context.Context) bool) error {
	ended := started
	deadline := time.Now().Add(upTimeout)
	var over time.Time // when the started process ended; zero while it runs
	rival := false     // another process was first
	for !ready(ctx) {
		_, runs := s.runs(name)
		held := !runs && (started == nil || !over.IsZero()) && s.held(name)
		rival = rival || held
		switch there := runs || held; {
		case !there && (started == nil || rival):
			return errEnded
		case !there && !over.IsZero() && time.Since(over) > rivalTime:
			return coleo.Errorf(coleo.EUnavailable, "%s ended at its start; the end of its log %s:\n%s",
				name, s.logFile(name), tail(s.logFile(name)))
		}
		if name != "serve" {
			if _, serves := s.runs("serve"); !serves {
				return coleo.Errorf(coleo.EUnavailable, "serve ended while %s started; the end of its log %s:\n%s",
					name, s.logFile("serve"), tail(s.logFile("serve")))
			}
		}
		if time.Now().After(deadline) {
			return coleo.Errorf(coleo.EUnavailable, "%s was not ready within %s; the end of its log %s:\n%s",
				name, upTimeout, s.logFile(name), tail(s.logFile(name)))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ended:
			over, ended = time.Now(), nil
		case <-time.After(upLook):
		}
	}
	return nil
}

// tail returns the last lines of a file.
func tail(path string) string {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	const most = 5
	lines := strings.Split(strings.TrimSpace(string(raw)), "\n")
	return strings.Join(lines[max(0, len(lines)-most):], "\n")
}
