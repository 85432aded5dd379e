package process

import (
	"bufio"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestTheListsOfChildrenNameTheWholeTree starts a shell whose child has left the session. The parent of that
// child has ended, so the kernel has made the child a child of the test's own process. The lists must contain
// all processes. The test is not parallel, because other tests also start children of the test's process.
func TestTheListsOfChildrenNameTheWholeTree(t *testing.T) {
	if !listsChildren() {
		t.Skip("this kernel does not list children")
	}
	if err := BecomeReaper(); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/bin/sh", "-c", "(setsid sh -c 'sleep 1000 & echo up; sleep 1000' &); sleep 1000")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	tree := &Tree{Program: func() int { return cmd.Process.Pid }, Guard: func() int { return 0 }}
	t.Cleanup(func() {
		go func() { _ = cmd.Wait() }() // a holder, too, waits for its program at the same time
		if left := tree.End(0); len(left) > 0 {
			t.Errorf("processes %v are left", left)
		}
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); strings.TrimSpace(line) != "up" {
		t.Fatalf("the tree says %q, %v", line, err)
	}
	self := os.Getpid()
	all := func() []procEntry {
		return treeOf(allProcesses(), Group{}, func(p procEntry) bool { return p.parent == self })
	}
	const least = 4 // the program and its sleep, the shell with its own session and its sleep
	want := all()
	for deadline := time.Now().Add(patience); len(want) < least && time.Now().Before(deadline); want = all() {
		time.Sleep(PollEvery) // a shell may not have started its sleep yet
	}
	got := pidsOf(readProcesses(withAllBelow(Children(self), Group{})))
	for _, p := range want {
		if !slices.Contains(got, p.pid) {
			t.Errorf("process %d is in the tree %v, and not in %v", p.pid, pidsOf(want), got)
		}
	}
	if len(want) < least {
		t.Errorf("the tree has only %v", pidsOf(want))
	}
}
