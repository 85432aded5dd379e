package container

import (
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"coleo.dev"
	"coleo.dev/sandbox/inside"
)

// Init runs as the first process of a container (see InitVerb). It ends the process with the exit code
// of the program, or returns an error.
func Init(args []string) error {
	if len(args) != 1 {
		return coleo.Errorf(coleo.EInvalid, "%s needs the path of a socket", InitVerb)
	}
	// The agent CLI has the same user id as this process. With this setting, the agent CLI can neither trace this
	// process nor take its descriptors.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("protect the first process of the container: %w", err)
	}
	signals := make(chan os.Signal, 16)
	signal.Notify(signals) // all signals, because the engine may send SIGTERM, and the agent CLI can send any
	conn, err := connect(args[0])
	if err != nil {
		return err
	}
	o, fds, err := receiveOrder(conn)
	if err != nil {
		return fmt.Errorf("receive the order of the container: %w", err)
	}
	child, err := o.start(fds)
	if err != nil {
		_ = send(conn, result{Failed: err.Error()})
		return err
	}
	go passSignals(signals)
	go followOrders(conn, child)
	code := reap(child)
	_ = send(conn, result{Code: code})
	os.Exit(code)
	return nil
}

// passSignals forwards SIGTERM and SIGHUP to all other processes of the container.
func passSignals(signals <-chan os.Signal) {
	for s := range signals {
		if s == syscall.SIGTERM || s == syscall.SIGHUP {
			_ = unix.Kill(-1, s.(syscall.Signal))
		}
	}
}

// followOrders carries out the messages of StartVerb. When StartVerb ends, this process ends too, and then
// the kernel ends all others.
func followOrders(conn, child int) {
	for {
		var m signalledError
		if _, err := receive(conn, &m); err != nil {
			os.Exit(128 + int(unix.SIGKILL))
		}
		switch m.Signal {
		case unix.SIGTERM, unix.SIGHUP: // these signals end the arm
			_ = unix.Kill(-1, m.Signal)
		default: // the other signals come from the terminal, which sends them to a whole process group
			_ = unix.Kill(-child, m.Signal)
		}
	}
}

// start starts the program, and returns its process id. The started process first installs the same
// seccomp filter as in a bubblewrap sandbox, and then becomes the agent CLI.
func (o order) start(fds []int) (pid int, err error) {
	if err := checkLimits(o.Limits, "/sys/fs/cgroup"); err != nil {
		return 0, err
	}
	if err := os.Chdir(o.Workdir); err != nil {
		return 0, fmt.Errorf("the work folder cannot be used in the container: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	argv := []string{self, inside.EnterVerb}
	files := []uintptr{uintptr(fds[0]), uintptr(fds[1]), uintptr(fds[2])}
	if o.Network {
		if len(fds) < 4 {
			return 0, fmt.Errorf("the socket of the proxy is missing")
		}
		argv = append(argv, inside.NetworkOption)
		for len(files) < inside.ProxySocket {
			files = append(files, ^uintptr(0))
		}
		files = append(files, uintptr(fds[3]))
	}
	pid, err = syscall.ForkExec(self, slices.Concat(argv, []string{"--"}, o.Argv), &syscall.ProcAttr{
		Env: mergeEnv(os.Environ(), o.Env), Files: files,
		Sys: &syscall.SysProcAttr{Setsid: true, Setctty: o.Terminal, Ctty: 0}})
	for _, fd := range fds {
		_ = unix.Close(fd)
	}
	if err != nil {
		return 0, fmt.Errorf("start a program in the container: %w", err)
	}
	return pid, nil
}

// mergeEnv returns the variables of the lists `env` and `top`. If both lists contain a variable, the value
// in `top` wins.
func mergeEnv(env, top []string) (out []string) {
	set := map[string]bool{}
	for _, kv := range top {
		name, _, _ := strings.Cut(kv, "=")
		set[name] = true
	}
	for _, kv := range env {
		if name, _, _ := strings.Cut(kv, "="); !set[name] {
			out = append(out, kv)
		}
	}
	return append(out, top...)
}

// reap collects ended processes until the program has ended, and returns the program's exit code. `child` is
// the program's process id.
func reap(child int) int {
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, 0, nil)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return 1
		case pid == child && status.Exited():
			return status.ExitStatus()
		case pid == child && status.Signaled():
			return 128 + int(status.Signal())
		}
	}
}
