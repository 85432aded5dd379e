package container

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"coleo.dev"
	"coleo.dev/holder/process"
	"coleo.dev/sandbox/inside"
)

// This file implements StartVerb. For the holder, the process of StartVerb is the arm's program: it runs on
// the host, and makes the agent CLI run in a container.

const (
	// runTimeout is the time limit for the engine to start a container. The first start from a large
	// image can take long.
	runTimeout = 2 * time.Minute
	// linkTimeout is how long StartVerb waits for the first process of a container to connect.
	linkTimeout = 30 * time.Second
)

// passed lists the signals that this process forwards to the agent CLI.
var passed = []os.Signal{syscall.SIGHUP, syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGWINCH,
	syscall.SIGTSTP, syscall.SIGCONT}

// Start runs a program in a container (see StartVerb). It ends this process with the exit code of the
// program. If the program was not started, Start returns an error.
func Start(args []string) error {
	if len(args) < 3 || args[1] != "--" {
		return coleo.Errorf(coleo.EInvalid, "%s needs a file, -- and a command line", StartVerb)
	}
	p, err := readPlan(args[0])
	if err != nil {
		return err
	}
	id, err := identify(os.Getenv(process.EnvArm))
	if err != nil {
		return err
	}
	s := containerRun{plan: p, id: id, engine: engine{p.Kind, p.Program, p.Environ}, signals: make(chan os.Signal, 16)}
	signal.Notify(s.signals, passed...)
	code, err := s.run(args[2:])
	if err == nil {
		os.Exit(code)
	}
	return err
}

// containerRun contains the data of one started container.
type containerRun struct {
	plan    Plan
	id      identity
	engine  engine
	signals chan os.Signal
}

// run runs the program in the container and returns the program's exit code. When run returns, the
// container no longer exists.
func (s *containerRun) run(argv []string) (code int, err error) {
	ctx := context.Background()
	if err := s.engine.sweep(ctx, s.id.arm); err != nil {
		return 0, fmt.Errorf("remove what an earlier start has left: %w", err)
	}
	defer func() { err = errors.Join(err, s.engine.remove(ctx, s.id)) }()
	link, err := listen(s.plan.Link)
	if err != nil {
		return 0, err
	}
	defer link.close()
	if err := s.makeContainer(ctx); err != nil {
		return 0, err
	}
	conn, err := link.accept(linkTimeout, func() bool {
		found, err := s.engine.list(ctx, "name=^"+s.id.name()+"$")
		return err == nil && len(found) == 0
	})
	if err != nil {
		return 0, coleo.Errorf(coleo.EUnsupported, "the container of %s was "+
			"started, but Coleo's program in it has not begun: %w: %s", s.plan.Image, err, s.diagnose(ctx))
	}
	link.close()
	return s.serve(conn, argv)
}

// makeContainer makes the container. It ignores SIGHUP while it starts the engine, so that the engine's process
// ignores SIGHUP too. When a holder ends the arm, it sends SIGHUP to all processes below it. podman's process
// must survive this signal in order to remove the container.
func (s *containerRun) makeContainer(ctx context.Context) error {
	signal.Ignore(syscall.SIGHUP)
	defer signal.Notify(s.signals, passed...)
	ctx, cancel := context.WithTimeout(ctx, runTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.plan.Program, s.plan.run(s.id, user{os.Geteuid(), os.Getegid()})...)
	cmd.Env, cmd.Dir = s.plan.Environ, "/"
	out, err := cmd.CombinedOutput()
	if err == nil {
		return nil
	}
	return coleo.Errorf(coleo.EUnsupported, "%s makes no container of %s: %w: %s", s.plan.Kind, s.plan.Image, err,
		cut(strings.Join(strings.Fields(string(out)), " ")))
}

// diagnose finds out why the container's first process has not connected. It runs the same program in another
// container, without a link. It returns what that program prints, which contains the error message.
func (s *containerRun) diagnose(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, linkTimeout)
	defer cancel()
	m := Mount{s.plan.Coleo, s.plan.Coleo, true}
	cmd := exec.CommandContext(ctx, s.plan.Program, "run", "--rm", "--pull=never", "--network", "none", "--read-only",
		"--cap-drop", "ALL", "--mount", m.String(), "--entrypoint", s.plan.Coleo, s.plan.Image, InitVerb, "/nowhere")
	cmd.Env, cmd.Dir = s.plan.Environ, "/"
	out, _ := cmd.CombinedOutput()
	return cut(strings.Join(strings.Fields(string(out)), " "))
}

// serve sends the order to the container, and forwards signals until the program has ended.
func (s *containerRun) serve(conn int, argv []string) (int, error) {
	fds := []int{0, 1, 2}
	o := order{Argv: argv, Workdir: s.plan.Workdir, Limits: s.plan.Limits, Network: s.plan.Rules != ""}
	// This call must come before the start of the proxy: releaseTerminal makes the kernel send SIGHUP to this
	// process group, to which the proxy will belong.
	o.Terminal = s.releaseTerminal()
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); !slices.Contains(s.plan.Dropped, name) {
			o.Env = append(o.Env, kv)
		}
	}
	if o.Network {
		socket, err := inside.StartProxy(s.plan.Rules)
		if err != nil {
			return 0, err
		}
		fds = append(fds, socket)
	}
	if err := sendOrder(conn, o, fds...); err != nil {
		return 0, fmt.Errorf("tell the container what to run: %w", err)
	}
	if o.Network {
		_ = unix.Close(fds[3])
	}
	ended := make(chan result, 1)
	go func() {
		end := result{Failed: "the container has ended"}
		_, _ = receive(conn, &end)
		ended <- end
	}()
	for {
		select {
		case end := <-ended:
			if end.Failed != "" {
				return 0, coleo.Errorf(coleo.EUnsupported, "%s", end.Failed)
			}
			return end.Code, nil
		case sig := <-s.signals:
			_ = send(conn, signalledError{sig.(syscall.Signal)})
		}
	}
}

// releaseTerminal releases the terminal of this session, so that the agent CLI can make it the terminal
// of its own session. It reports whether it has succeeded. It fails if this process runs below a
// wrapper, because the wrapper then leads the session. The agent CLI then uses the terminal without
// owning it, and this process forwards the terminal's signals.
func (s *containerRun) releaseTerminal() bool {
	session, err := unix.Getsid(0)
	if _, tty := unix.IoctlGetTermios(0, unix.TCGETS); err != nil || tty != nil || session != os.Getpid() {
		return false
	}
	signal.Ignore(syscall.SIGHUP, syscall.SIGCONT) // TIOCNOTTY makes the kernel send both to the terminal's process group
	err = unix.IoctlSetInt(0, unix.TIOCNOTTY, 0)
	signal.Notify(s.signals, passed...)
	return err == nil
}
