package terminal

import (
	"time"

	"coleo.dev/harnesses/terminal/rules"
	"coleo.dev/hook"
)

// listener follows the reports of the agent CLI's hook for a session.
type listener struct {
	file  *hook.Reader
	woken chan struct{} // a report may have come; nil without a hook
	done  chan struct{}
}

// newListener follows the reports of the generation in dir, if the harness has reports.
// If they cannot be followed, the session works without that witness.
func newListener(spec *rules.Spec, dir string) *listener {
	l := &listener{done: make(chan struct{})}
	if len(spec.Hook.Reports) > 0 {
		l.file, _ = hook.Open(hook.Path(dir))
	}
	if l.file == nil {
		close(l.done)
		return l
	}
	l.woken = make(chan struct{}, 1)
	go func() {
		defer close(l.done)
		for l.file.Wait() == nil {
			select {
			case l.woken <- struct{}{}:
			default: // a wake-up is already pending
			}
		}
	}()
	return l
}

func (l *listener) close() {
	if l.file != nil {
		_ = l.file.Close()
	}
	<-l.done
}

// listen takes what the hook has reported. The caller holds mu.
func (s *session) listen(now time.Time) {
	if s.ear.file == nil {
		return
	}
	for _, line := range s.ear.file.Lines() {
		s.Report(line, now)
	}
}

// hearHook runs when a report has come. It judges the report at once, whatever the screen
// shows, and returns when to look again.
func (s *session) hearHook(now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listen(now)
	again := s.Judge(now)
	s.wakeLookers()
	if half := s.UntilWhole(now); half > 0 {
		again = min(again, half)
	}
	return again
}
