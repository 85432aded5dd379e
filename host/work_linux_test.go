package host

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"coleo.dev"
	"coleo.dev/bus"
)

// These tests count what this process and the holders that it started read. They
// do not run beside others: the kernel counts for the whole process, and adds what
// a child has read when that is collected.

// crowdSize is how many processes that are nobody's arm a crowd has. Who looks
// at all processes reads at least one file of each.
const crowdSize = 300

// crowd fills the machine with processes that are nobody's arm.
func crowd(t *testing.T) {
	t.Helper()
	for range crowdSize {
		cmd := exec.Command("sleep", "1000")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	}
}

// readsFor is how often something is read, on average, while do is done some times.
func readsFor(t *testing.T, times int, do func(i int)) int {
	t.Helper()
	before := readsSoFar(t)
	for i := range times {
		do(i)
	}
	return (readsSoFar(t) - before) / times
}

func readsSoFar(t *testing.T) int {
	t.Helper()
	raw, err := os.ReadFile("/proc/self/io")
	if err != nil {
		t.Skipf("the kernel does not count reads: %v", err)
	}
	var calls int
	if _, err := fmt.Sscanf(string(raw), "rchar: %d\nwchar: %d\nsyscr: %d", new(int), new(int), &calls); err != nil {
		t.Fatal(err)
	}
	return calls
}

// TestAnEndLooksAtTheArmAlone: the holder ends the arm's own processes and says
// that none is left. Nobody looks at all that the machine has.
func TestAnEndLooksAtTheArmAlone(t *testing.T) {
	s := newStage(t)
	const ends = 8
	end := func(name string) int {
		for i := range ends {
			s.begin(name + strconv.Itoa(i))
		}
		return readsFor(t, ends, func(i int) {
			must[bus.ArmReport](s, bus.OpKill, bus.ArmOrder{Arm: s.id(name + strconv.Itoa(i))})
		})
	}
	alone := end("a")
	crowd(t)
	if got := end("b"); got-alone > crowdSize/2 {
		t.Errorf("an end reads %d times, and %d times beside %d more processes", alone, got, crowdSize)
	}
}

// id is what an arm's id is in these tests.
func (s *stage) id(name string) string {
	return filepath.Base(s.dir) + filepath.Base(filepath.Dir(s.dir)) + name
}

// begin starts an arm.
func (s *stage) begin(name string) {
	s.t.Helper()
	o := bus.SpawnOrder{ID: s.id(name), Name: name, Harness: "fake", Config: coleo.SpawnConfig{Workdir: s.dir}}
	must[bus.ArmReport](s, bus.OpSpawn, o)
}
