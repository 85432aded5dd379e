package terminal

import (
	"coleo.dev/harnesses/terminal/rules"
	"coleo.dev/hook"
)

// hookFollower follows the reports of the agent CLI's hook.
type hookFollower struct {
	file  *hook.Reader  // reads the reports; nil if there is no hook
	woken chan struct{} // receives a value after new reports; nil if there is no hook
	done  chan struct{}
}

// followHook follows the hook's reports, if the harness has a hook. `dir` is the holder's folder for this
// start of the arm. If Coleo cannot follow the reports, the session works without the hook.
func followHook(spec *rules.Spec, dir string) *hookFollower {
	f := &hookFollower{done: make(chan struct{})}
	if len(spec.Hook.Reports) > 0 {
		f.file, _ = hook.Open(hook.Path(dir))
	}
	if f.file == nil {
		close(f.done)
		return f
	}
	f.woken = make(chan struct{}, 1)
	go func() {
		defer close(f.done)
		for f.file.Wait() == nil {
			select {
			case f.woken <- struct{}{}:
			default: // a wake-up is already pending
			}
		}
	}()
	return f
}

// lines returns the reports of the hook since the last call.
func (f *hookFollower) lines() []hook.Line {
	if f.file == nil {
		return nil
	}
	return f.file.Lines()
}

func (f *hookFollower) close() {
	if f.file != nil {
		_ = f.file.Close()
	}
	<-f.done
}
