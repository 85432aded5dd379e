package bench

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"coleo.dev/wire"
)

// manyArms is the larger of the two numbers of arms that BenchmarkArms compares. The smaller one is
// fewArms.
var manyArms = flag.Int("arms", 500, "arms of BenchmarkArms")

const (
	fewArms = 50
	// armsRatio is the largest ratio between an arm's cost among many arms and its cost among few.
	armsRatio = 1.2
	// armsIdle is the most CPU time that serve and the host agent together may use with many idle
	// arms, in thousandths of a core.
	armsIdle = 10
	// armsEnd is the longest time that 'coleo down --arms' may take with many arms, in seconds.
	armsEnd = 15
	// armSamples is how many spawns and lists are timed for each number of arms.
	armSamples = 20
	// spawnsAtOnce is how many arms are started at the same time while the benchmark adds arms.
	spawnsAtOnce = 6
)

// armCosts contains the measurements for one number of arms.
type armCosts struct {
	spawn, list float64 // in milliseconds; list is the time per arm
	idle        float64 // CPU time of serve and the host agent, in thousandths of a core
	holder      float64 // memory of each holder and of its guard process, in kilobytes; shared memory counts in part
}

// BenchmarkArms measures what an idle arm costs among few arms and among many, and compares the two
// as ratios. It also measures the time to end all arms.
func BenchmarkArms(b *testing.B) {
	f := newFleet(b)
	for b.Loop() {
		few := f.costs(0, fewArms)
		many := f.costs(fewArms, *manyArms)
		b.ReportMetric(many.idle, "idle-millicores")
		for name, ratio := range map[string]float64{
			"spawn-ratio": many.spawn / few.spawn, "list-ratio": many.list / few.list,
			"holder-ratio": many.holder / few.holder,
		} {
			bar(b, name, []float64{ratio}, armsRatio)
		}
		bar(b, "idle-millicores", []float64{many.idle}, armsIdle)
		b.Logf("%d arms: %+v; %d arms: %+v", fewArms, few, *manyArms, many)
		start := time.Now()
		if out, err := f.command(finalHolder(b), "down", "--arms").CombinedOutput(); err != nil {
			b.Errorf("coleo down --arms: %v\n%s", err, out)
		}
		bar(b, "s-to-end-all", []float64{time.Since(start).Seconds()}, armsEnd)
	}
}

// costs raises the number of arms from the given number to n, and measures.
func (f *fleet) costs(from, n int) armCosts {
	f.b.Helper()
	var starting sync.WaitGroup
	room := make(chan struct{}, spawnsAtOnce)
	for i := from; i < n-armSamples; i++ {
		room <- struct{}{}
		starting.Go(func() { f.shell(i); <-room })
	}
	starting.Wait()
	var out armCosts
	var spawns, lists []time.Duration
	for i := n - armSamples; i < n; i++ {
		start := time.Now()
		f.shell(i)
		spawns = append(spawns, time.Since(start))
	}
	for range armSamples {
		start := time.Now()
		f.call(http.MethodGet, "/api/arms?includeAll=true", nil, nil)
		lists = append(lists, time.Since(start))
	}
	out.spawn, out.list = millis(at(spawns, 50)), millis(at(lists, 50))/float64(n)
	time.Sleep(idleWarming)
	own := []int{f.pid("serve"), f.pid("agent")}
	before := cpuTime(f.b, own)
	const window = 60 * time.Second // a host agent sends two beats, its signs of life, in this time
	time.Sleep(window)
	out.idle = float64((cpuTime(f.b, own) - before).Microseconds()) / float64(window.Microseconds()) * 1000
	out.holder = f.shares(own) / float64(n)
	return out
}

// shell starts an arm that runs a shell, the lightest possible arm.
func (f *fleet) shell(i int) {
	f.b.Helper()
	name := "arm-" + strconv.Itoa(i)
	f.call(http.MethodPost, "/api/arms/"+name+"/spawn",
		wire.SpawnRequest{Harness: "generic", Workdir: filepath.Join(f.dir, "work")}, nil)
}

// pid returns the process that runs a verb.
func (f *fleet) pid(verb string) int {
	f.b.Helper()
	raw, err := os.ReadFile(filepath.Join(f.dir, "state", verb+".pid"))
	ok(f.b, err)
	_, rest, _ := strings.Cut(string(raw), `"pid":`)
	digits, _, _ := strings.Cut(rest, ",")
	n, err := strconv.Atoi(digits)
	ok(f.b, err)
	return n
}

// shares returns the memory of all processes of coleo in kilobytes, except the processes in `but`. Memory that
// several processes share is divided among them.
func (f *fleet) shares(but []int) (total float64) {
	f.b.Helper()
	for _, pid := range f.pids() {
		if slices.Contains(but, pid) {
			continue
		}
		argv, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if !strings.Contains(string(argv), "hold") {
			continue // this is one of the shells
		}
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
		if err != nil {
			continue // the process has ended
		}
		for line := range strings.Lines(string(raw)) {
			var kb float64
			if n, _ := fmt.Sscanf(line, "Pss: %f kB", &kb); n == 1 {
				total += kb
			}
		}
	}
	return total
}
