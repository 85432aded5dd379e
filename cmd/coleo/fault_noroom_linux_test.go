package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"coleo.dev"
)

// smallState mounts a file system of the given size on the state folder, with both databases, the
// sockets and the arms. It is unmounted when the world ends.
func (w *world) smallState(size string) {
	w.t.Helper()
	dir := w.path("state")
	w.check(os.MkdirAll(dir, 0o700))
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "mode=700,size="+size); err != nil {
		w.t.Skip("no file system of our own can be mounted here: ", err)
	}
	w.ending = append(w.ending, func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
}

// fill fills the disk of the state folder completely.
func (w *world) fill() {
	w.t.Helper()
	f, err := os.Create(w.path("state/filler"))
	w.check(err)
	defer f.Close()
	for size := 1 << 20; size > 0; {
		if _, err := f.Write(make([]byte, size)); err != nil {
			size /= 2
		}
	}
}

// TestOnAFullDiskArmsAreStoppedAndRemoved fills the disk that contains both databases. Arms must
// still stop and be removable. In one case, the disk has room for Coleo's reserve of disk space. In
// the other case, it has not.
func TestOnAFullDiskArmsAreStoppedAndRemoved(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]string{"with a reserve": "48m", "without room for a reserve": "12m"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "")
			w.smallState(size)
			f, idle := w.spawnFake("one"), w.spawnFake("two")
			w.must("arm", "prompt", f.name, "pause 300ms\nflood 64")
			until(t, "the list says that the arm is blocked",
				func() bool { return w.arm(f.name).Runtime.State == "blocked" })
			w.fill()
			if now := w.arm(f.name); !strings.Contains(now.Runtime.Reason, "no room") {
				t.Errorf("its health is %q because %q, want that there is no room", now.Runtime.State,
					now.Runtime.Reason)
			}
			if list := w.must("arm", "list"); !strings.Contains(list, "blocked: no room") {
				t.Errorf("the list does not say that there is no room:\n%s", list)
			}
			for _, arm := range []*fake{f, idle} {
				w.must("arm", "kill", arm.name)
				if runs(arm.pid) {
					t.Errorf("the agent CLI of %s still runs", arm.name)
				}
			}
			if now := w.arm(idle.name); name == "with a reserve" && now.Status != coleo.StatusStopped {
				t.Errorf("with a reserve the row of a killed arm is %s before there is room", now.Status)
			}
			w.must("arm", "remove", f.name) // frees disk space
			w.must("arm", "remove", idle.name)
			w.check(os.Remove(w.path("state/filler")))
			until(t, "the list is empty",
				func() bool { return len(decode[map[string][]coleo.Arm](w, "arm", "list", "--all")["arms"]) == 0 })
			if entries, _ := os.ReadDir(w.path("state/arms")); len(entries) != 0 {
				t.Errorf("%d folders of arms are left", len(entries))
			}
			w.spawnFake("three").checkAnswer("here")
		})
	}
}

// endOfTurn is more than the number of bytes that the fake agent CLI writes at the end of a turn.
const endOfTurn = 2500

// roomInJournal returns how many bytes fit into the last block of the only journal below the state folder. On a
// full disk, a file can still grow within its last block.
func (w *world) roomInJournal() int64 {
	w.t.Helper()
	const block = 4096
	room := int64(0)
	w.check(filepath.WalkDir(w.path("state"), func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || err == nil && filepath.Ext(path) != ".bytes" {
			return nil
		}
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err == nil {
			room = (block - info.Size()%block) % block
		}
		return err
	}))
	return room
}

// TestWhatHappenedOnAFullDiskIsWrittenDownLater: a turn ends while the disk is full. As soon as
// there is space again, the log must contain the end of the turn.
func TestWhatHappenedOnAFullDiskIsWrittenDownLater(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.smallState("12m")
	f := w.spawnFake("one")
	var r coleo.Receipt
	until(t, "the journal has room for the end of a turn", func() bool {
		r = decode[coleo.Receipt](w, "arm", "prompt", f.name, "pause 2s\nsay the-end")
		if w.roomInJournal() >= endOfTurn {
			return true
		}
		w.awaitRun(r.ID)
		return false
	})
	w.fill()
	until(t, "the turn has ended on the screen", func() bool {
		return strings.Contains(w.must("arm", "screen", f.name), "the-end") &&
			decode[coleo.Explanation](w, "arm", "explain", f.name).Reading.State == coleo.Idle
	})
	w.check(os.Remove(w.path("state/filler")))
	if end := w.awaitRun(r.ID); end.Status != coleo.Idle || !strings.Contains(end.Answer, "the-end") {
		t.Errorf("the run ended with %+v", end)
	}
	f.checkAnswer("again")
}
