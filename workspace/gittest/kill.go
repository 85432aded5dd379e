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

// Kill starts a program and kills it at a random moment of the given time. With whole, it kills the
// program's children too, such as gits. It reports whether the program had ended before. Such a
// program must not have failed.
func (s *Stage) Kill(cmd *exec.Cmd, whole bool, within time.Duration) (ended bool) {
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
	case <-time.After(rand.N(within)):
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

// Children returns the children of a process, and their children. It needs /proc: it finds none on
// another system than Linux.
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

// DropLocks deletes the locks that a killed git has left, as git tells its user to do. No git may
// run in the repository.
func (s *Stage) DropLocks() {
	s.Helper()
	s.Check(filepath.WalkDir(filepath.Join(s.Repo, ".git"), func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".lock") {
			return os.Remove(path)
		}
		return nil
	}))
}
