package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/wire"
)

// fleet is an installation of the shipped coleo in its own folder, with serve, a host agent and
// scripted arms.
type fleet struct {
	b      *testing.B
	dir    string
	client http.Client
}

// newFleet starts a fleet. The fleet ends with the benchmark.
func newFleet(b *testing.B) *fleet {
	b.Helper()
	program := finalHolder(b)
	dir, err := os.MkdirTemp("", "c") // short, because a socket's path must be short
	ok(b, err)
	f := &fleet{b: b, dir: dir}
	for _, name := range []string{"bin", "home", "work", "config/harnesses"} {
		ok(b, os.MkdirAll(filepath.Join(dir, name), 0o700))
	}
	f.write("config/harnesses/fake.toml", fakeSpec, 0o600)
	f.write("config/config.toml", "[arms]\nmax_arms = 1000\n[serve]\naddr = \"127.0.0.1:0\"\n[agents]\npath = [\""+dir+
		"/bin\"]\n", 0o600)
	f.write("bin/fake", "#!/bin/sh\nexec "+os.Args[0]+" "+asFake+"\n", 0o700)
	f.client.Transport = &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		return net.Dial("unix", filepath.Join(dir, "state/serve.sock"))
	}}
	b.Cleanup(func() {
		if out, err := f.command(program, "down", "--arms").CombinedOutput(); err != nil {
			b.Errorf("coleo down: %v\n%s", err, out)
		}
		_ = os.RemoveAll(dir)
	})
	if out, err := f.command(program, "up").CombinedOutput(); err != nil {
		b.Fatalf("coleo up: %v\n%s", err, out)
	}
	return f
}

func (f *fleet) command(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.Env = []string{"COLEO_DIR=" + f.dir, "HOME=" + f.dir + "/home", "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8"}
	return cmd
}

func (f *fleet) write(name, text string, mode os.FileMode) {
	f.b.Helper()
	ok(f.b, os.WriteFile(filepath.Join(f.dir, name), []byte(text), mode))
}

// call sends a request to the API. body may be nil.
func (f *fleet) call(method, path string, body, out any) {
	f.b.Helper()
	raw, err := json.Marshal(body)
	ok(f.b, err)
	q, err := http.NewRequestWithContext(f.b.Context(), method, "http://coleo"+path, bytes.NewReader(raw))
	ok(f.b, err)
	q.Header.Set("Content-Type", "application/json")
	r, err := f.client.Do(q)
	ok(f.b, err)
	defer r.Body.Close()
	raw, err = io.ReadAll(r.Body)
	ok(f.b, err)
	if r.StatusCode/100 != 2 {
		f.b.Fatalf("%s %s: %s\n%s", method, path, r.Status, raw)
	}
	if out != nil {
		ok(f.b, json.Unmarshal(raw, out))
	}
}

// spawn starts a scripted arm and waits until it is idle.
func (f *fleet) spawn(name string) {
	f.b.Helper()
	f.call(http.MethodPost, "/api/arms/"+name+"/spawn",
		wire.SpawnRequest{Harness: "fake", Workdir: filepath.Join(f.dir, "work")}, nil)
	f.idle(name)
}

// idle waits until an arm is idle.
func (f *fleet) idle(name string) {
	f.b.Helper()
	var reply struct{ Arm coleo.Arm }
	await(f.b, func() bool {
		f.call(http.MethodGet, "/api/arms/"+name, nil, &reply)
		time.Sleep(10 * time.Millisecond)
		return reply.Arm.State == coleo.Idle
	})
}

// pids returns coleo's own processes: serve, the host agent, holders and their guards. It omits the
// scripted agent CLIs.
func (f *fleet) pids() (out []int) {
	entries, err := os.ReadDir("/proc")
	ok(f.b, err)
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		of := func(name string) string {
			raw, _ := os.ReadFile(filepath.Join("/proc", e.Name(), name))
			return string(raw)
		}
		if argv := of("cmdline"); strings.Contains(of("environ")+argv, f.dir) && !strings.Contains(argv, asFake) {
			out = append(out, pid)
		}
	}
	return out
}

// promptBar is the longest time from the request POST prompt to its response, without paste_gap_ms. The
// response proves that the agent CLI has received the prompt. The scripted agent CLI begins its turn at once.
const promptBar = 100 // milliseconds, 95th percentile

// BenchmarkFleetPrompt measures the time from the request POST prompt to its response, through
// serve, the bus and the host agent. The response is the proof that the agent CLI has received the
// prompt.
func BenchmarkFleetPrompt(b *testing.B) {
	const gap = 50 * time.Millisecond // paste_gap_ms in fakeSpec
	f := newFleet(b)
	f.spawn("one")
	for b.Loop() {
		var runs []float64
		for range 3 {
			var took []time.Duration
			for range 40 {
				start := time.Now()
				f.call(http.MethodPost, "/api/arms/one/prompt", map[string]string{"prompt": "say done"}, nil)
				took = append(took, time.Since(start)-gap)
				f.idle("one")
			}
			runs = append(runs, millis(at(took, 95)))
		}
		bar(b, "post-p95-ms-beyond-gap", runs, promptBar)
	}
}

// These constants limit the CPU time of all of coleo's processes with 50 idle arms, in thousandths of one core.
const (
	idleArms    = 50
	restBar     = 10
	idleWindow  = 20 * time.Second // three windows are a minute
	idleWarming = 5 * time.Second  // time for the work that spawns leave behind
)

// BenchmarkFleetIdle measures the CPU time that 50 idle arms use in a minute. It adds up serve, the
// host agent, the holders and the guards.
func BenchmarkFleetIdle(b *testing.B) {
	f := newFleet(b)
	for i := range idleArms {
		f.spawn(fmt.Sprintf("arm-%d", i))
	}
	pids := f.pids()
	if len(pids) < 2+idleArms {
		b.Fatalf("%d processes, want serve, host agent and %d holders at least", len(pids), idleArms)
	}
	time.Sleep(idleWarming)
	for b.Loop() {
		var runs []float64
		for range 3 {
			before := cpuTime(b, pids)
			time.Sleep(idleWindow)
			runs = append(runs,
				float64((cpuTime(b, pids)-before).Microseconds())/float64(idleWindow.Microseconds())*1000)
		}
		bar(b, "millicores", runs, restBar)
		b.ReportMetric(float64(len(pids)), "processes")
	}
}
