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

// manyArms is the larger number of arms that BenchmarkArms compares with fewArms.
var manyArms = flag.Int("arms", 500, "arms of BenchmarkArms")

const (
	fewArms = 50
	// armsRatio is how much more one of many arms may cost than one of few.
	armsRatio = 1.2
	// armsIdle is the bar for serve and the host agent together with many idle arms, in
	// thousandths of a core.
	armsIdle = 10
	// armsEnd is the bar for 'coleo down --arms' with many arms, in seconds.
	armsEnd = 15
	// armSamples is how many spawns and lists are timed at each number of arms.
	armSamples = 20
	// spawnsAtOnce is how many arms are started side by side to reach that number.
	spawnsAtOnce = 6
)

// armCosts are the figures at one number of arms.
type armCosts struct {
	spawn, list float64 // in milliseconds; list for each arm
	idle        float64 // in thousandths of a core, for serve and host agent
	holder      float64 // memory in kilobytes, proportional share, for each holder with its guard
}

// BenchmarkArms measures the cost of an idle arm among few and among many, as ratios
// within one run, and the time to end all arms.
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

// costs raises the number of arms to n and measures.
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
	const window = 60 * time.Second // two beats
	time.Sleep(window)
	out.idle = float64((cpuTime(f.b, own) - before).Microseconds()) / float64(window.Microseconds()) * 1000
	out.holder = f.shares(own) / float64(n)
	return out
}

// shell starts an arm with a shell, the lightest possible arm.
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

// shares returns the proportional memory of coleo's processes, except some, in kilobytes.
// Memory that several processes share counts in parts.
func (f *fleet) shares(but []int) (total float64) {
	f.b.Helper()
	for _, pid := range f.pids() {
		if slices.Contains(but, pid) {
			continue
		}
		argv, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if !strings.Contains(string(argv), "hold") {
			continue // the shells
		}
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
		if err != nil {
			continue // it has ended
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
