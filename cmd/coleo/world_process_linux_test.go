package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"coleo.dev/api/apiclient"
	"coleo.dev/holder/process"
)

// worldProcess is a live process of a world.
type worldProcess struct {
	pid  int
	argv []string
}

// processes returns every live process that belongs to the world. Such a process runs one of the
// world's programs or works in one of its folders. Or it has the path of the world's folder in its
// environment or its arguments.
func (w *world) processes() []worldProcess {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		w.t.Fatal(err)
	}
	var out []worldProcess
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		of := func(name string) string { return filepath.Join("/proc", e.Name(), name) }
		exe, _ := os.Readlink(of("exe"))
		cwd, _ := os.Readlink(of("cwd"))
		env, _ := os.ReadFile(of("environ"))
		argv, _ := os.ReadFile(of("cmdline"))
		if strings.HasPrefix(exe, w.dir) || strings.HasPrefix(cwd, w.dir) || bytes.Contains(env, []byte(w.dir)) ||
			bytes.Contains(argv, []byte(w.dir)) {
			out = append(out, worldProcess{pid, strings.Split(strings.TrimRight(string(argv), "\x00"), "\x00")})
		}
	}
	return out
}

// processesOf returns the processes of the world that run a verb of coleo.
func (w *world) processesOf(name string) []int {
	var out []int
	for _, p := range w.processes() {
		if len(p.argv) > 1 && filepath.Base(p.argv[0]) == "coleo" && p.argv[1] == name {
			out = append(out, p.pid)
		}
	}
	return out
}

// onlyProcess returns the only process that runs a verb. It waits until there is exactly one: until
// a new child process runs its own program, it has its parent's command line.
func (w *world) onlyProcess(verb string) int {
	w.t.Helper()
	var pids []int
	until(w.t, "there is one process of coleo "+verb, func() bool {
		pids = w.processesOf(verb)
		return len(pids) == 1
	})
	return pids[0]
}

func killPID(pid int) { _ = syscall.Kill(pid, syscall.SIGKILL) }

// kill9 kills a process and waits until it no longer exists.
func (w *world) kill9(pid int) {
	w.t.Helper()
	killPID(pid)
	until(w.t, "process "+strconv.Itoa(pid)+" is gone", func() bool { return !runs(pid) })
}

// runs reports whether a process exists and is not a zombie.
func runs(pid int) bool {
	id, err := process.Identify(pid)
	return err == nil && process.Look(id) != process.Dead
}

func (w *world) client() (*apiclient.Client, error) {
	return apiclient.New(apiclient.Config{Socket: w.path("state/serve.sock")})
}
