package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/store"
)

// release gives an arm of host local to a host agent. The arm continues to run. One write to
// the arm's folder makes the change. It stores the id of the host agent, the open runs, the
// intended prompts, and the queue. If a process is killed before or after this write, the folder
// names exactly one host.
//
// release returns ENotFound if this host does not have the arm. It returns EBusy while
// somebody types into the arm, or while the arm is being started, attached to or ended.
// After one of these errors nothing has changed.
func (h *Host) release(ctx context.Context, o bus.ReleaseOrder) (any, error) {
	if h.ID != coleo.LocalHost || o.To == coleo.LocalHost {
		return nil, coleo.Errorf(coleo.EInvalid, "only an arm of host %s moves, and only to a host agent",
			coleo.LocalHost)
	}
	a, err := h.arm(o.Arm)
	if err != nil {
		return nil, err
	}
	done, err := a.beginNow()
	if err != nil {
		return nil, err
	}
	defer done()
	if err := a.lockOwnFolder(); err != nil {
		return nil, err
	}
	if !a.typing.TryLock() {
		return nil, a.busyError("somebody types into it")
	}
	defer a.typing.Unlock()
	if list, err := h.DB.Requests(ctx); err != nil || slices.ContainsFunc(list, func(s coleo.Suspension) bool {
		return s.Arm == a.record.ID
	}) {
		return nil, errors.Join(err, a.busyError("a subarm of it is being started"))
	}
	return nil, a.handTo(ctx, o.To)
}

func (a *arm) busyError(why string) error {
	return coleo.Errorf(coleo.EBusy, "arm %s stays where it is for now: %s", a.name(), why)
}

// beginNow is like begin, but returns EBusy instead of waiting for another action.
func (a *arm) beginNow() (done func(), err error) {
	if !a.starting.TryLock() {
		return nil, a.busyError("it is being started, attached to or ended")
	}
	a.setBusy(true)
	a.setInAction(true)
	return a.finish, nil
}

// handTo writes the id of another host into the arm's folder, and forgets the arm on
// this host. The caller holds the arm's locks.
func (a *arm) handTo(ctx context.Context, to string) error {
	a.mu.Lock()
	s, unfollow, followed := a.session, a.unfollow, a.followEnded
	leased := a.lease.ID != "" && time.Now().Before(a.lease.Until)
	a.mu.Unlock()
	if s == nil || leased {
		return a.busyError("it has no live session, or somebody types into it by hand")
	}
	unfollow()
	<-followed // after this, nothing changes the record any more
	a.mu.Lock()
	ended := a.session == nil
	a.mu.Unlock()
	if ended {
		return a.busyError("it has just ended")
	}
	a.closeDoor() // a waiting call comes again at the next host's door, and gets no answer without the arm
	if err := a.writeFolder(to, true); err != nil {
		a.letGo()
		a.host.runs.Go(a.adoptOrLog) // the attach begins when the caller has released the locks
		return err
	}
	a.mu.Lock()
	a.gone = true
	a.mu.Unlock()
	a.wake() // the tools of its parent no longer wait for it here
	a.letGo()
	a.host.mu.Lock()
	delete(a.host.arms, a.record.ID)
	a.host.mu.Unlock()
	if err := a.host.DB.DeleteArm(context.WithoutCancel(ctx), a.record.ID); err != nil {
		a.host.Log.Warn("forget an arm that has moved", "arm", a.name(), "error", err) // the folder decides
	}
	return nil
}

// take attaches to an arm whose folder names this host. The session must prove its
// identity, as after a restart of the host agent. take returns ENotFound if the arm has
// no folder, or if the folder names another host.
func (h *Host) take(ctx context.Context, o bus.ArmOrder) (any, error) {
	a, err := h.takeNamed(ctx, o.Arm)
	if err != nil {
		return nil, err
	}
	if err := a.adopt(ctx); err != nil {
		return nil, err
	}
	h.beatOf(a)
	return a.report(), nil
}

// takeNamed returns the arm from the record in the arm's folder. If this host does not
// drive the arm yet, the returned arm has no session.
func (h *Host) takeNamed(ctx context.Context, id string) (*arm, error) {
	kept, err := readKept(h.Dir, id)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !h.owns(kept.Host) {
		return nil, coleo.Errorf(coleo.ENotFound, "no arm called %q on this host", id)
	}
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	a, there := h.arms[id]
	h.mu.Unlock()
	if !there {
		a = &arm{host: h, record: kept.Record}
	}
	defer a.begin()()
	if _, err := a.liveSession(); err == nil {
		return a, nil
	}
	if err := a.lockOwnFolder(); err != nil {
		return nil, err
	}
	known := map[string]store.ArmRecord{}
	if r, err := h.DB.Arm(ctx, id); err == nil {
		known[id] = r
	}
	if err := h.takeFolder(ctx, known, kept.Record); err != nil {
		return nil, err
	}
	record, err := h.DB.Arm(ctx, id)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	a.record = record
	a.mu.Unlock()
	h.mu.Lock()
	h.arms[id] = a
	if h.arrived != nil {
		close(h.arrived)
		h.arrived = nil
	}
	h.mu.Unlock()
	return a, nil
}

// takeStrays attaches to running arms that this host does not have, although their folders name
// this host. There are such arms if serve was killed while it moved them.
func (h *Host) takeStrays(ctx context.Context) {
	for _, id := range armFolders(h.Dir) {
		a, err := h.arm(id)
		if err == nil {
			if _, err := a.liveSession(); err == nil {
				continue
			}
		}
		kept, readErr := readKept(h.Dir, id)
		if readErr != nil || !h.owns(kept.Host) || kept.Record.Desired != coleo.DesiredRunning ||
			err == nil && a.generation() >= kept.Record.Generation {
			continue
		}
		if _, err := h.take(ctx, bus.ArmOrder{Arm: id}); err != nil {
			h.Log.Warn("take up an arm that has moved", "arm", kept.Record.Name, "error", err)
		}
	}
}

// writeFolder writes the arm's record to the arm's folder, with the id of a host. It either
// replaces the whole file or changes nothing. If whole is true, the record includes the open runs,
// the intended prompts, and the queue. Such a write survives a power failure.
func (a *arm) writeFolder(host string, whole bool) error {
	a.writing.Lock()
	defer a.writing.Unlock()
	a.mu.Lock()
	kept := keptArm{Host: host, Record: a.record}
	a.mu.Unlock()
	if !whole {
		kept.Record.Run, kept.Record.Earlier, kept.Record.Intended, kept.Record.Queue = nil, nil, nil, nil
	}
	raw, err := json.Marshal(kept)
	path := filepath.Join(a.root(), armFile)
	switch {
	case err != nil:
	case whole:
		err = writeWhole(path, raw)
	default:
		err = replaceFile(path, raw)
	}
	if err != nil {
		return fmt.Errorf("write down arm %s in its folder: %w", kept.Record.Name, err)
	}
	return nil
}

// driverFile is a file in an arm's folder. Only the process that has locked this file
// is allowed to start, read, type into or end the arm. The kernel releases the lock
// when the process ends. The file contains the process's pid, for messages.
const driverFile = "driver.lock"

const (
	// driverWait is how long a process waits for the lock. A killed process keeps its locks until
	// the kernel has removed the process, which takes milliseconds.
	driverWait = time.Second
	// driverLook is the time between two attempts to lock the file.
	driverLook = 5 * time.Millisecond
)

// folderLock is this process's lock on an arm's folder.
type folderLock struct {
	mu    sync.Mutex
	file  *os.File // the locked file; nil if this process does not have the lock
	doing bool     // a start, an attach, an end or a move runs
}

// lockFolder locks the arm's folder, unless this process already has the lock. It returns EConflict
// if another process has the lock. Call unlockIfUnused to release the lock.
func (a *arm) lockFolder() error {
	a.driving.mu.Lock()
	defer a.driving.mu.Unlock()
	if a.driving.file != nil {
		return nil
	}
	if err := os.MkdirAll(a.root(), 0o700); err != nil {
		return fmt.Errorf("lock the folder of arm %s: %w", a.name(), err)
	}
	f, err := lockDriver(filepath.Join(a.root(), driverFile))
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return coleo.Errorf(coleo.EConflict, "nothing was done: %s drives arm %s", driverOf(a.root()), a.name())
	}
	if err != nil {
		return fmt.Errorf("lock the folder of arm %s: %w", a.name(), err)
	}
	a.driving.file = f
	return nil
}

// lockOwnFolder is like lockFolder, but also checks that the arm's folder names this host. It returns
// ENotFound if the folder names another host. Another host can have taken the arm since this
// process last read the folder.
func (a *arm) lockOwnFolder() error {
	if err := a.lockFolder(); err != nil {
		return err
	}
	kept, err := readKept(a.host.Dir, a.record.ID)
	if err == nil && !a.host.owns(kept.Host) {
		return coleo.Errorf(coleo.ENotFound, "no arm called %q on this host: it belongs to %s now", a.name(), kept.Host)
	}
	return nil
}

// unlockIfUnused releases the lock on the arm's folder if this process no longer needs it. The
// process needs the lock while it has a session of the arm or waits for the reply of a holder. It
// also needs the lock while an action of the arm runs.
func (a *arm) unlockIfUnused() {
	if a.unlockFolder() {
		a.restTools()
	}
}

// unlockFolder releases the lock on the arm's folder and closes the arm's door. It then returns
// true. If this process still needs the lock or does not have it, unlockFolder changes nothing and
// returns false.
func (a *arm) unlockFolder() bool {
	a.driving.mu.Lock()
	defer a.driving.mu.Unlock()
	a.mu.Lock()
	needed := a.session != nil || a.silent
	a.mu.Unlock()
	if needed || a.driving.doing || a.driving.file == nil {
		return false
	}
	a.closeDoor()
	// Closing the file alone can leave the file locked. A child that another goroutine
	// has just forked also has the file open, until the child executes its program.
	_ = syscall.Flock(int(a.driving.file.Fd()), syscall.LOCK_UN)
	_ = a.driving.file.Close()
	a.driving.file = nil
	return true
}

// setInAction records whether an action of the arm is running.
func (a *arm) setInAction(yes bool) {
	a.driving.mu.Lock()
	a.driving.doing = yes
	a.driving.mu.Unlock()
}

// lockDriver locks the file at path and writes the pid of this process into it. It
// returns EWOULDBLOCK if another process keeps the lock for longer than driverWait.
func lockDriver(path string) (*os.File, error) {
	for began := time.Now(); ; time.Sleep(driverLook) {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, err
		}
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil && sameFile(f, path) {
			if err = f.Truncate(0); err == nil {
				_, err = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
			}
			if err == nil {
				return f, nil
			}
		}
		_ = f.Close()
		if err != nil && (!errors.Is(err, syscall.EWOULDBLOCK) || time.Since(began) > driverWait) {
			return nil, err
		}
	}
}

// sameFile reports whether an open file is still the file at path. If the arm was removed in the
// meantime, the lock file is missing or is a new file.
func sameFile(f *os.File, path string) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	now, err := os.Stat(path)
	return err == nil && os.SameFile(mine, now)
}

// driverOf describes the process that has the lock on an arm's folder, for a message.
func driverOf(root string) string {
	const pidBytes = 32 // the text of every pid is shorter
	text, err := os.ReadFile(filepath.Join(root, driverFile))
	if pid := strings.TrimSpace(string(text[:min(len(text), pidBytes)])); err == nil && pid != "" {
		return "process " + pid
	}
	return "another process"
}

// owns reports whether an arm belongs to this host, if the arm's folder names the given host. It
// does not compare the ids of host agents, because such an id can have changed. This is enough,
// because a state folder has at most two hosts: one host agent, and host local.
func (h *Host) owns(named string) bool {
	return (named == coleo.LocalHost) == (h.ID == coleo.LocalHost)
}

// disowned reports whether the folder of an arm names the other host. If the folder has no readable
// record, disowned returns false, and the record in the database applies.
func (h *Host) disowned(id string) bool {
	kept, err := readKept(h.Dir, id)
	return err == nil && !h.owns(kept.Host)
}
