package main

import (
	"encoding/json"
	"os"
	"path/filepath"

	"coleo.dev"
	"coleo.dev/holder"
)

// pidFile is where the background process of a verb leaves word of itself.
func (s setup) pidFile(name string) string { return filepath.Join(s.State, name+".pid") }

// leaveWord writes down who runs a verb. A pid alone would not do: another
// program, or the same verb of another installation, may have it later.
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

// takeBack removes the word that this process left.
func (s setup) takeBack(name string) {
	if id, ok := s.runs(name); ok && id.PID == os.Getpid() {
		_ = os.Remove(s.pidFile(name))
	}
}

// runs returns the live process that left word that it runs a verb.
func (s setup) runs(name string) (coleo.Identity, bool) {
	var id coleo.Identity
	raw, err := os.ReadFile(s.pidFile(name))
	if err != nil || json.Unmarshal(raw, &id) != nil {
		return id, false
	}
	return id, holder.SameProcess(id)
}
