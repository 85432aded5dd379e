package main

import (
	"encoding/json"
	"os"
	"path/filepath"

	"coleo.dev"
	"coleo.dev/holder"
)

// pidFile returns the file in which the background process of a verb records its
// identity.
func (s setup) pidFile(name string) string { return filepath.Join(s.State, name+".pid") }

// leaveWord records the process that runs a verb. A pid alone is not enough, because
// another program, or the same verb of another installation, may get the same pid later.
func (s setup) leaveWord(name string, pid int) error {
	id, err := holder.Identify(pid)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(id)
	if err != nil {
		return err
	}
	return writeFile(s.pidFile(name), append(raw, '\n'))
}

// takeBack removes this process's record.
func (s setup) takeBack(name string) {
	if id, ok := s.runs(name); ok && id.PID == os.Getpid() {
		_ = os.Remove(s.pidFile(name))
	}
}

// runs returns the recorded process of a verb, and reports whether it is alive.
func (s setup) runs(name string) (coleo.Identity, bool) {
	var id coleo.Identity
	raw, err := os.ReadFile(s.pidFile(name))
	if err != nil || json.Unmarshal(raw, &id) != nil {
		return id, false
	}
	return id, holder.SameProcess(id)
}
