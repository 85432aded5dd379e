package host

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"coleo.dev/bus"
	"coleo.dev/holder"
)

// These tests count how often this process and its holders read. They must not run in parallel, because the
// kernel counts the reads of all tests in this process together. The kernel adds the reads of a holder when
// this process waits for the holder.

// crowdSize is the number of processes that belong to no arm. A search of all processes reads at
// least one file of each.
const crowdSize = 300

// startStrangers starts processes that belong to no arm.
func startStrangers(t *testing.T) {
	t.Helper()
	for range crowdSize {
		cmd := exec.Command("sleep", "1000")
		cmd.Env = []string{"LC_ALL=C"} // it loads no messages of a language
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	}
}

// readsFor returns how often one call of the given function reads, as an average of several calls.
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

// The holder ends the arm's processes and reports that none is left, so the host agent need not search all
// processes of the machine. TestAnEndLooksAtTheArmAlone counts the reads during an end, without and with many
// other processes. With -short, it counts fewer ends.
func TestAnEndLooksAtTheArmAlone(t *testing.T) {
	s := newStage(t)
	ends := 8
	if testing.Short() {
		ends = 4
	}
	end := func(name string) int {
		for i := range ends {
			must[bus.ArmReport](s, bus.OpSpawn, s.order(name+strconv.Itoa(i)))
		}
		return readsFor(t, ends, func(i int) {
			must[bus.ArmReport](s, bus.OpKill, bus.ArmOrder{Arm: s.id(name + strconv.Itoa(i))})
		})
	}
	alone := end("a")
	startStrangers(t)
	// A search of all processes would read twice for each of the crowdSize processes. The bound is lower than
	// that. It is not 0, because the host agent's other work reads some hundred times more on a loaded machine,
	// where an arm ends slowly.
	if got := end("b"); got-alone > crowdSize {
		t.Errorf("an end reads %d times, and %d times beside %d more processes", alone, got, crowdSize)
	}
}

// A start searches all processes once for a mark, the variable COLEO_ARM, of an earlier start of the arm. An
// arm with a new id needs no search, because no process can have its mark. With -short, the test counts fewer
// starts.
func TestAStartLooksAtAllProcessesOnceAtMost(t *testing.T) {
	s := newStage(t)
	starts := 6
	if testing.Short() {
		starts = 3
	}
	var looks atomic.Int64
	look := s.host.processMarks.look
	s.host.processMarks.look = func() map[string][]int { looks.Add(1); return look() }
	start := func(name string, newID bool) (reads int) {
		reads = readsFor(t, starts, func(i int) {
			o := s.order(name + strconv.Itoa(i))
			o.NewID = newID
			must[bus.ArmReport](s, bus.OpSpawn, o)
		})
		for i := range starts {
			must[bus.ArmReport](s, bus.OpKill, bus.ArmOrder{Arm: s.id(name + strconv.Itoa(i))})
		}
		return reads
	}
	alone := start("a", false)
	if n := looks.Load(); n != int64(starts) {
		t.Errorf("%d starts of arms that may have run before looked %d times", starts, n)
	}
	startStrangers(t)
	looks.Store(0)
	again := start("a", false)
	if n := looks.Load(); n != int64(starts) {
		t.Errorf("%d starts of arms that have run before looked %d times", starts, n)
	}
	// One search reads the file of a process twice: its content and its end. A second search would read it four
	// times. So a bound of three proves that there was only one search.
	const once = 3
	if again-alone > once*crowdSize {
		t.Errorf("a start reads %d times, and %d times beside %d more processes", alone, again, crowdSize)
	}
	looks.Store(0)
	if fresh := start("b", true); fresh-alone > crowdSize/2 || looks.Load() != 0 {
		t.Errorf(
			"a start with a new id reads %d times beside %d more processes, "+
				"and %d times without them: it looked %d times", fresh, crowdSize, alone, looks.Load())
	}
}

// TestStartsThatWaitShareALook checks that starts that wait at the same time share one search. No
// start may receive the result of a search that began before it asked.
func TestStartsThatWaitShareALook(t *testing.T) {
	t.Parallel()
	began, goOn := make(chan int), make(chan struct{})
	n := 0
	marks := markSearch{look: func() map[string][]int {
		n++
		now := n
		began <- now
		<-goOn
		return map[string][]int{"ada": {now}}
	}}
	const waiting = 5
	got := make(chan int, 1+waiting)
	ask := func() { got <- marks.generationsOf("ada")[0] }
	go ask()
	<-began // all of them ask during the first search
	var asked sync.WaitGroup
	for range waiting {
		asked.Go(ask)
	}
	(&stage{t: t}).until("all wait", func() bool {
		marks.mu.Lock()
		defer marks.mu.Unlock()
		return marks.next != nil && marks.next.waiting == waiting
	})
	goOn <- struct{}{}
	if at := <-got; at != 1 {
		t.Errorf("the first start was told of look %d", at)
	}
	if second := <-began; second != 2 {
		t.Fatalf("look %d follows the first", second)
	}
	goOn <- struct{}{}
	asked.Wait()
	for range waiting {
		if at := <-got; at != 2 {
			t.Errorf("a start that asked during the first look was told of look %d", at)
		}
	}
}

// A beat, the host agent's sign of life, lists each arm whose holder lives. To make a beat, the host agent must
// use the session's connection to the holder. This connection already proves that the holder lives and who it
// is.
func TestABeatNeedsNoNewConnection(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.arm("ada")
	beats := make(chan bus.Beat, 100)
	s.check(s.serve.Beats(t.Context(), func(b bus.Beat) {
		if b.Of == "" {
			beats <- b
		}
	}))
	dir := must[bus.ArmReport](s, bus.OpReport, bus.ArmOrder{Arm: id}).Handle.Dir
	s.check(os.Rename(holder.SocketPath(dir), holder.SocketPath(dir)+".away"))
	s.check(s.serve.RollCall())
	if b := <-beats; len(b.Arms) != 1 || b.Arms[0].ID != id {
		t.Errorf("where nobody can connect to the holder, the beat vouches for %v: its session is connected", b.Arms)
	}
	s.check(os.Rename(holder.SocketPath(dir)+".away", holder.SocketPath(dir)))
}

// Serve asks for a pulse, a short report about all arms, every 1.5 s. So the host agent may read only once for
// each arm.
func TestAPulseReadsOnceForEachArm(t *testing.T) {
	s := newStage(t)
	const arms, pulses = 4, 50
	for i := range arms {
		s.arm("a" + strconv.Itoa(i))
	}
	got := readsFor(t, pulses, func(int) {
		p, err := s.host.pulse(t.Context(), bus.PulseOrder{})
		s.check(err)
		for _, a := range p.(bus.Pulse).Arms {
			if a.Process != bus.ProcessAlive {
				t.Errorf("%+v", a)
			}
		}
	})
	if got > arms+1 {
		t.Errorf("a pulse of %d arms reads %d times", arms, got)
	}
}
