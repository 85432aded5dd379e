package main

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"coleo.dev"
)

// smallDisk mounts a file system of the given size on the folder of the arms. It is unmounted when
// the world ends.
func (w *world) smallDisk(size string) {
	w.t.Helper()
	dir := w.path("state/arms")
	w.check(os.MkdirAll(dir, 0o700))
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "mode=700,size="+size); err != nil {
		w.t.Skip("no file system of our own can be mounted here: ", err)
	}
	w.ending = append(w.ending, func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
}

func (w *world) growDisk(size string) {
	w.t.Helper()
	w.check(syscall.Mount("tmpfs", w.path("state/arms"), "tmpfs", syscall.MS_REMOUNT, "mode=700,size="+size))
}

func TestAFullDiskBlocksTheArmAndLosesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.smallDisk("256k")
	f := w.spawnFake("one")
	r := decode[coleo.Receipt](w, "arm", "prompt", f.name, "pause 300ms\nflood 2\nsay the-end")
	until(t, "explain tells of the full disk", func() bool {
		return strings.Contains(decode[coleo.Explanation](w, "arm", "explain", f.name).Blocked,
			"no space left on device")
	})
	if n := len(w.events(f.name, coleo.EventBlocked)); n != 1 {
		t.Errorf("%d events about the full disk, want 1", n)
	}
	if now := w.arm(f.name); now.State != coleo.Processing || !runs(f.pid) {
		t.Errorf("the arm is %s, its agent CLI runs: %v", now.State, runs(f.pid))
	}
	w.growDisk("64m")
	if end := w.awaitRun(r.ID); end.Status != coleo.Idle || !strings.Contains(end.Answer, "the-end") {
		t.Errorf("the run ended with %+v", end)
	}
	// The fake has written 2 MiB in lines of 64 bytes, which makes 32768 lines.
	if n := strings.Count(w.must("arm", "logs", f.name, "--raw", "--bytes", "100000000"),
		"flood flo\r\n"); n != 2*16*1024 {
		t.Errorf("%d lines of 32768 are in the journal", n)
	}
	w.must("arm", "explain", f.name)
	if n := len(w.events(f.name, coleo.EventBlocked)); n != 2 {
		t.Errorf("%d events about the disk, want one that it is full and one that it is not", n)
	}
	f.checkAnswer("again")
}

func TestAnArmThatAFullDiskHoldsUpCanBeKilled(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.smallDisk("256k")
	f := w.spawnFake("one")
	w.must("arm", "prompt", f.name, "pause 300ms\nflood 2")
	until(t, "explain tells of the full disk", func() bool {
		return decode[coleo.Explanation](w, "arm", "explain", f.name).Blocked != ""
	})
	w.must("arm", "kill", f.name)
	if runs(f.pid) {
		t.Error("the agent CLI still runs")
	}
}
