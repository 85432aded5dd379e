//go:build !linux

package holder

import (
	"context"
	"syscall"
	"time"

	"coleo.dev"
)

// treePoll is the interval at which a tree that was told to end is looked at again.
const treePoll = 5 * time.Millisecond

// killTimeout bounds how long processes may take to vanish after KILL.
const killTimeout = 5 * time.Second

// Without a subreaper a child that made a session of its own leaves the tree and cannot
// be found again. This fallback reaches only the program's own session.

func becomeReaper() error { return nil }

func keepDescriptors() {}

func (s *server) reapOthers(context.Context) {}

func (s *server) endTree(grace time.Duration) []int {
	group := -s.term.Pid()
	if grace > 0 {
		_ = syscall.Kill(group, syscall.SIGHUP)
		_ = syscall.Kill(group, syscall.SIGTERM)
		select {
		case <-s.exited:
		case <-time.After(grace):
		}
	}
	_ = syscall.Kill(group, syscall.SIGKILL)
	return nil
}

// SweepStarts returns nil on this system: another process's environment cannot be read.
func SweepStarts(string, func(int, string) bool) []int { return nil }

// process is a process of an arm. On this system only the program itself is known.
type process struct{ pid int }

func markedTree(group, string, func(int, string) bool) []process { return nil }

func pidsOf([]process) []int { return nil }

// signalOne sends signals to the process that id names.
func signalOne(id coleo.Identity, signals ...syscall.Signal) {
	for _, sig := range signals {
		if SameProcess(id) {
			_ = syscall.Kill(id.PID, sig)
		}
	}
}

func signalAll([]process, ...syscall.Signal) {}
