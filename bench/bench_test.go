package bench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/conformance/fakeagent"
	"coleo.dev/conformance/modelserver"
	"coleo.dev/conformance/netns"
	"coleo.dev/holder"
	"coleo.dev/registry"
	"coleo.dev/waitfor"
)

// These constants select a role of the benchmarks' binary, which also acts as holder, scripted
// agent CLI, painter and serve.
const (
	asHolder  = "coleo-bench-hold"
	asFake    = "coleo-bench-fake"
	asPainter = "coleo-bench-painter"
	asServe   = "coleo-bench-serve"
	isolated  = "COLEO_BENCH_ISOLATED"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == asHolder {
		must(holder.Serve(os.Stdin, os.Stdout))
		os.Exit(0)
	}
	if len(os.Args) > 1 && os.Args[1] == asFake {
		code, err := fakeagent.Run(context.Background(), os.Stdin, os.Stdout, fakeagent.Config{})
		must(err)
		os.Exit(code)
	}
	if len(os.Args) > 3 && os.Args[1] == asPainter {
		must(paint(os.Args[2], os.Args[3]))
		os.Exit(0)
	}
	if len(os.Args) > 2 && os.Args[1] == asServe {
		must(serveEvents(os.Args[2]))
		os.Exit(0)
	}
	if os.Getenv(isolated) != "" {
		must(netns.LoopbackUp())
		os.Exit(m.Run())
	}
	cmd := exec.Command(os.Args[0], os.Args[1:]...)
	cmd.Env = append(os.Environ(), isolated+"=1")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	netns.Isolate(cmd)
	must(cmd.Run())
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func ok(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// patience bounds every wait in the benchmarks.
const patience = 2 * time.Minute

// fakeSpec is the harness that drives the scripted agent CLI.
const fakeSpec = `
name = "fake"
command = "fake"
[launch.permission]
ask = ""
[capabilities]
interrupt = true
[keys]
submit = "ENTER"
interrupt = "ESCAPE"
clear = "CTRL_U"
[timing]
settle_ms = 100
paste_gap_ms = 50
[composer]
bottom = '^─{10,}'
top = '^─{10,}'
first = '^❯ ?'
empty = '^$'
[[rule]]
name = "busy"
state = "processing"
when = [{ where = "below composer", pattern = 'esc to interrupt' }]
[[rule]]
name = "composer"
state = "idle"
when = [{ where = "composer", pattern = '(?s).*' }]
`

// harness returns the harness with the given name. Some harnesses exist only in these benchmarks.
func harness(b *testing.B, name string) coleo.Harness {
	b.Helper()
	dir := b.TempDir()
	for name, spec := range map[string]string{"fake": fakeSpec, "painter": painterSpec} {
		ok(b, os.WriteFile(filepath.Join(dir, name+".toml"), []byte(spec), 0o600))
	}
	reg, err := registry.New(dir, []string{os.Args[0], asHolder})
	ok(b, err)
	h, err := reg.Get(name)
	ok(b, err)
	return h
}

// spawn starts an agent CLI with a scripted model, and returns the session when it is idle.
func spawn(b *testing.B, h coleo.Harness, endpoint string) coleo.Session {
	b.Helper()
	s, err := h.Spawn(b.Context(), config(b, h, endpoint))
	if coleo.ErrorCode(err) == coleo.ENotInstalled {
		b.Skip(err)
	}
	ok(b, err)
	b.Cleanup(func() { _ = s.Kill(context.Background()); _ = s.Close() })
	ctx, cancel := context.WithTimeout(b.Context(), patience)
	defer cancel()
	_, err = waitfor.Idle(ctx, s)
	ok(b, err)
	return s
}

func config(b *testing.B, h coleo.Harness, endpoint string) coleo.SpawnConfig {
	b.Helper()
	dir := b.TempDir()
	work, home := filepath.Join(dir, "work"), filepath.Join(dir, "home")
	ok(b, os.Mkdir(work, 0o700))
	ok(b, os.Mkdir(home, 0o700))
	c := coleo.SpawnConfig{
		Arm: "bench-" + filepath.Base(dir) + strconv.FormatInt(time.Now().UnixNano(), 36), Generation: 1, Nonce: "n",
		Dir:     filepath.Join(dir, "hold"),
		Workdir: work, Home: home, Profile: coleo.ProfileHermetic, Endpoint: endpoint, Model: "mock-1",
		Environ: os.Environ(),
	}
	if agents := os.Getenv("COLEO_AGENTS"); agents != "" {
		c.Path = []string{filepath.Join(agents, "node_modules", ".bin"), filepath.Join(agents, "aider", "bin")}
	}
	if h.Info().Name == "fake" {
		fake := filepath.Join(dir, "fake")
		ok(b, os.WriteFile(fake, []byte("#!/bin/sh\nexec "+os.Args[0]+" "+asFake+"\n"), 0o700))
		c.Binary = fake
	}
	return c
}

// BenchmarkSpawn measures the time from the call of Spawn to the program's process, through a new
// holder. For comparison, it measures a plain start of the same program.
func BenchmarkSpawn(b *testing.B) {
	h := harness(b, "fake")
	var through, plain []time.Duration
	for b.Loop() {
		c := config(b, h, "")
		start := time.Now()
		s, err := h.Spawn(b.Context(), c)
		ok(b, err)
		through = append(through, time.Since(start))
		_ = s.Kill(b.Context())
		_ = s.Close()
		cmd := exec.Command(c.Binary)
		start = time.Now()
		ok(b, cmd.Start())
		plain = append(plain, time.Since(start))
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	b.ReportMetric(millis(at(through, 50)), "spawn-p50-ms")
	b.ReportMetric(millis(at(through, 95)), "spawn-p95-ms")
	b.ReportMetric(millis(at(plain, 50)), "plain-p50-ms")
}

// BenchmarkPrompt measures the time from the call of Prompt to the proof that the agent CLI has received the
// prompt. It subtracts the harness's own pauses. The scripted agent CLI begins its turn at once.
func BenchmarkPrompt(b *testing.B) {
	s := spawn(b, harness(b, "fake"), "")
	const gap = 50 * time.Millisecond // paste_gap_ms in fakeSpec
	var took []time.Duration
	for b.Loop() {
		start := time.Now()
		r, err := s.SendPrompt(b.Context(), coleo.Prompt{Text: "say done"})
		ok(b, err)
		took = append(took, time.Since(start)-gap)
		_, err = waitfor.Turn(b.Context(), s, r)
		ok(b, err)
	}
	report(b, took, "prompt")
}

// BenchmarkPromptToModel measures the time from the call of Prompt to the prompt's arrival at the model server.
// It includes the time that the real agent CLI needs.
func BenchmarkPromptToModel(b *testing.B) {
	model, err := modelserver.Start(modelserver.Config{})
	ok(b, err)
	defer model.Close()
	for _, name := range []string{"claude-code"} {
		b.Run(name, func(b *testing.B) {
			s := spawn(b, harness(b, name), model.URL())
			var took []time.Duration
			for n := 0; b.Loop(); n++ {
				text := "say done" + strconv.Itoa(n)
				start := time.Now()
				r, err := s.SendPrompt(b.Context(), coleo.Prompt{Text: text})
				ok(b, err)
				q, err := model.Wait(b.Context(), func(q modelserver.Request) bool {
					return q.Prompt == text && q.Side == ""
				})
				ok(b, err)
				took = append(took, q.At.Sub(start))
				_, err = waitfor.Turn(b.Context(), s, r)
				ok(b, err)
			}
			report(b, took, "model")
		})
	}
}

// cpuTime returns the total CPU time of processes, in user mode and in the kernel.
func cpuTime(b *testing.B, pids []int) time.Duration {
	const tick = 10 * time.Millisecond // USER_HZ is 100 on Linux
	var sum time.Duration
	for _, pid := range pids {
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		ok(b, err)
		fields := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:]))
		for _, i := range []int{11, 12} {
			n, err := strconv.Atoi(fields[i])
			ok(b, err)
			sum += time.Duration(n) * tick
		}
	}
	return sum
}

func report(b *testing.B, took []time.Duration, what string) {
	b.ReportMetric(millis(at(took, 50)), what+"-p50-ms")
	b.ReportMetric(millis(at(took, 95)), what+"-p95-ms")
}

func at(list []time.Duration, percent int) time.Duration {
	sorted := slices.Sorted(slices.Values(list))
	return sorted[(len(sorted)-1)*percent/100]
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
