package host

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"coleo.dev"
	"coleo.dev/host/armrecord"
	"coleo.dev/store"
)

// smallDisk is the folder of a small file system, which a test can fill.
type smallDisk string

// mountSmallDisk mounts a small file system on a folder. It returns "" if this machine does not
// allow that.
func mountSmallDisk(t *testing.T, dir string) smallDisk {
	if syscall.Mount("tmpfs", dir, "tmpfs", 0, "mode=700,size=48m") != nil {
		return ""
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	return smallDisk(dir)
}

// fill fills the rest of the disk.
func (d smallDisk) fill() {
	if d == "" {
		return
	}
	f, err := os.OpenFile(filepath.Join(string(d), "filler"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	for piece := make([]byte, 1<<16); len(piece) > 0; {
		if _, err := f.Write(piece); err != nil {
			piece = piece[:len(piece)/2]
		}
	}
}

// free makes room on the disk. It empties the file instead of removing it, because a process that another test
// has just started may have the file open. A removed file takes room until it is closed.
func (d smallDisk) free() {
	if d != "" {
		_ = os.Truncate(filepath.Join(string(d), "filler"), 0)
	}
}

// freePage makes a little room on the disk: one page of memory, which is the smallest amount.
func (d smallDisk) freePage() {
	path := filepath.Join(string(d), "filler")
	if info, err := os.Stat(path); err == nil {
		_ = os.Truncate(path, max(info.Size()-int64(os.Getpagesize()), 0))
	}
}

// onFullDisk is like inBubble, with the database on a disk that the test can fill.
func onFullDisk(t *testing.T, do func(c *clockedArm, disk smallDisk)) {
	t.Helper()
	disk := mountSmallDisk(t, t.TempDir())
	if disk == "" {
		t.Skip("this machine does not allow a file system of its own")
	}
	inBubble(t, string(disk), func(c *clockedArm) { do(c, disk) })
}

// fillDatabase fills the disk, and also the space that SQLite has reserved in its files. After
// that, every write of the arm's record fails.
func (c *clockedArm) fillDatabase(disk smallDisk) {
	c.t.Helper()
	const most = 10_000 // number of writes; SQLite reserves space for about 1000 pages
	disk.fill()
	for _, small := range []func() error{
		func() error {
			return c.intend(c.t.Context(), func(r *store.ArmRecord) []coleo.Event {
				return armrecord.SetQueue(r, armrecord.Queue(r), coleo.QueueMoved, "")
			})
		},
		func() error {
			return c.host.appendAs(c.t.Context(), intended, armrecord.Event("arm", coleo.EventBlocked, coleo.Note{}))
		},
	} {
		var err error
		for range most {
			if err = small(); err != nil {
				break
			}
		}
		if !store.NoRoom(err) {
			c.t.Fatalf("the disk is not full: %v", err)
		}
	}
}

// After the disk has room again, an idle agent CLI reports nothing. The host agent must still try
// to send the queue again.
func TestAQueueGoesOnWhenAFullDiskHasRoomAgain(t *testing.T) {
	t.Parallel()
	onFullDisk(t, func(c *clockedArm, disk smallDisk) {
		const tried, room = time.Minute, 3 * time.Minute
		c.add("say one")
		synctest.Wait()
		c.wantSent([]string{"say one"}, 0) // the run of this prompt is open, so the next prompts wait
		c.add("say two")
		c.add("say three")
		c.fillDatabase(disk)
		c.sleepUntil(tried)
		c.endTurn() // the end cannot be recorded, but the queue may continue
		c.wantSent([]string{"say one"}, 0)
		c.sleepUntil(room)
		c.wantSent([]string{"say one"}, 0)
		if r := c.recordNow(); len(armrecord.Queue(&r).Entries) != 2 || len(r.Intended) != 0 {
			t.Errorf("on the full disk the queue is %+v, and %+v is being sent", r.Queue, r.Intended)
		}
		disk.free()
		c.sleepUntil(room + maxWake)
		c.wantSent([]string{"say one", "say two"}, 0, room+maxWake)
		c.endTurn()
		c.wantSent([]string{"say one", "say two", "say three"}, 0, room+maxWake, room+maxWake)
		c.endTurn()
		c.sleepUntil(time.Hour)
		c.wantSent([]string{"say one", "say two", "say three"}, 0, room+maxWake, room+maxWake)
		stored, err := c.host.DB.Arm(c.t.Context(), "arm")
		if err != nil || stored.Queue != nil || len(stored.Intended) != 0 || stored.Run != nil {
			t.Errorf("the stored record is %+v, %v", stored, err)
		}
	})
}

// While the disk is full, the start and the end of the run wait in memory. The host agent must not
// conclude from the log that the prompt has no run.
func TestAPromptIsNotAddedAgainWhileItsRunWaitsForTheDisk(t *testing.T) {
	t.Parallel()
	onFullDisk(t, func(c *clockedArm, disk smallDisk) {
		c.session.meanwhile(fakeMoments{then: func() { c.fillDatabase(disk) }})
		o := coleo.QueueOrder{Step: coleo.QueueAdded, ID: "mine", Text: "say one"}
		_, err := c.order(o)
		c.check(err)
		synctest.Wait()
		c.endTurn()
		if _, err = c.order(o); coleo.ErrorCode(err) != coleo.EUnavailable {
			t.Errorf("on the full disk: %v, want %s", err, coleo.EUnavailable)
		}
		disk.free()
		out, err := c.order(o)
		if c.check(err); out.ID != "mine" {
			t.Errorf("the report is %+v", out)
		}
		c.sleepUntil(time.Hour)
		c.wantSent([]string{"say one"}, 0)
	})
}

// A write waits for room on the disk. Then there is room for this write, and not for the next one, which adds a
// prompt to the queue. The person is told that nothing was added. So the disk must not have the prompt either:
// otherwise the next host agent would send it.
func TestAPromptThatWasNotAddedOnAFullDiskIsNotStored(t *testing.T) {
	t.Parallel()
	onFullDisk(t, func(c *clockedArm, disk smallDisk) {
		_, err := c.order(coleo.QueueOrder{Step: coleo.QueuePaused, Why: "a test"})
		c.check(err)
		c.fillDatabase(disk)
		c.check(c.change(c.t.Context(), func(r *store.ArmRecord) []coleo.Event {
			return []coleo.Event{armrecord.Event(r.ID, coleo.EventBlocked, coleo.Note{Text: "it waits for room"})}
		}))
		for refused := 0; ; refused++ {
			disk.freePage()
			if _, err = c.order(coleo.QueueOrder{Step: coleo.QueueAdded, Text: "say no"}); err == nil {
				if refused == 0 {
					t.Error("the first order found room, so this test shows nothing")
				}
				return
			}
			stored, storedErr := c.host.DB.Arm(c.t.Context(), "arm")
			if c.check(storedErr); stored.Queue != nil && len(stored.Queue.Entries) > 0 {
				t.Errorf("after %v the disk has the queue %+v", err, stored.Queue)
				return
			}
		}
	})
}
