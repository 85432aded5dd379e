package setup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"coleo.dev"
	"coleo.dev/holder/process"
	"coleo.dev/wholefile"
)

// endTimeout is how long End waits for the end of a background process.
const endTimeout = 15 * time.Second

// End ends the background process of a verb and waits for its end. It returns false if there is none. If the
// recorded process has ended and another process has received its pid, End leaves that process alone.
func (s Setup) End(ctx context.Context, name string) (bool, error) {
	id, runs := s.Process(name)
	if !runs {
		return false, s.forget(name)
	}
	if err := syscall.Kill(id.PID, syscall.SIGTERM); err != nil {
		return false, fmt.Errorf("end %s: %w", name, err)
	}
	process.Wake(id) // make the process continue, because a stopped process cannot end
	deadline := time.Now().Add(endTimeout)
	for process.Same(id) {
		if time.Now().After(deadline) {
			return false, coleo.Errorf(coleo.ETimeout, "%s (process %d) did not end within %s", name, id.PID,
				endTimeout)
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-time.After(pollEvery):
		}
	}
	return true, s.forget(name)
}

// forget removes the record of a verb's process, unless the recorded process is alive. Another `coleo up` may have
// started and recorded it meanwhile.
func (s Setup) forget(name string) error {
	if unlock, err := wholefile.Lock(s.pidLock()); err == nil { // on a full disk, forget works without the lock
		defer unlock()
	}
	if _, runs := s.Process(name); runs {
		return nil
	}
	if err := os.Remove(s.pidFile(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the file with the process id of %s: %w", name, err)
	}
	return nil
}

// pidFile returns the path of the file that contains the identity of a verb's background process.
func (s Setup) pidFile(name string) string { return filepath.Join(s.State, name+".pid") }

// pidLock returns the path of the lock file for changes of the files with the identities of processes.
func (s Setup) pidLock() string { return filepath.Join(s.State, "pid.lock") }

// RecordProcess records the identity of the process that runs a verb. A pid alone is not enough,
// because an unrelated process can receive the pid after this process has ended. The unrelated
// process may even run the same verb of another installation.
func (s Setup) RecordProcess(name string, pid int) error {
	id, err := process.Identify(pid)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(id)
	if err != nil {
		return err
	}
	unlock, err := wholefile.Lock(s.pidLock())
	if err != nil {
		return err
	}
	defer unlock()
	return wholefile.Replace(s.pidFile(name), append(raw, '\n'), wholefile.OwnerOnly)
}

// RemoveRecord removes the record of a verb's process if the record names this process.
func (s Setup) RemoveRecord(name string) {
	if id, ok := s.Process(name); ok && id.PID == os.Getpid() {
		_ = os.Remove(s.pidFile(name))
	}
}

// Process returns the recorded process of a verb, and whether that process is alive.
func (s Setup) Process(name string) (coleo.Identity, bool) {
	var id coleo.Identity
	raw, err := os.ReadFile(s.pidFile(name))
	if err != nil || json.Unmarshal(raw, &id) != nil {
		return id, false
	}
	return id, process.Same(id)
}
