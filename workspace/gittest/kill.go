package gittest

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Kill starts a program and kills it at a random moment within the given time. See KillAfter.
func (s *Stage) Kill(cmd *exec.Cmd, whole bool, within time.Duration) (ended bool) {
	s.Helper()
	return s.KillAfter(cmd, whole, rand.N(within))
}

// KillAfter starts a program and kills it after the given time. If `whole` is true, it also kills the
// program's child processes, such as git. It reports whether the program ended before the kill. If the
// program failed before the kill, the test fails.
func (s *Stage) KillAfter(cmd *exec.Cmd, whole bool, after time.Duration) (ended bool) {
	s.Helper()
	cmd.Stderr = os.Stderr
	s.Check(cmd.Start())
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case err := <-done:
		if err != nil {
			s.Errorf("%s: %v", cmd.Path, err)
		}
		return true
	case <-time.After(after):
	}
	pids := []int{cmd.Process.Pid}
	if whole {
		pids = append(pids, Children(cmd.Process.Pid)...)
	}
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	<-done
	return false
}

// Children returns the descendants of a process. It needs /proc, so it finds none on operating
// systems other than Linux.
func Children(pid int) (all []int) {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, path := range tasks {
		data, _ := os.ReadFile(path)
		for _, word := range strings.Fields(string(data)) {
			child, _ := strconv.Atoi(word)
			all = append(append(all, child), Children(child)...)
		}
	}
	return all
}

// DropLocks deletes the locks that a killed git has left, as git's own error message recommends. No
// git process may run in the repository in the meantime.
func (s *Stage) DropLocks() {
	s.Helper()
	s.Check(filepath.WalkDir(filepath.Join(s.Repo, ".git"), func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".lock") {
			return os.Remove(path)
		}
		return nil
	}))
}
