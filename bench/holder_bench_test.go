package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"coleo.dev/holder"
	"coleo.dev/pty/device"
)

// finalHolder returns the path of the shipped program. `make bench` sets it in COLEO_BENCH_BINARY.
func finalHolder(b *testing.B) string {
	b.Helper()
	path := os.Getenv("COLEO_BENCH_BINARY")
	if path == "" {
		b.Skip("COLEO_BENCH_BINARY does not name the built coleo: use make bench")
	}
	return path
}

// held is a program that runs in a holder of the shipped binary.
type held struct {
	dir    string
	client *holder.Client
}

// hold runs argv in a holder, and returns when the holder can be reached.
func hold(b *testing.B, program []string, argv ...string) *held {
	b.Helper()
	h := &held{dir: filepath.Join(b.TempDir(), "hold")}
	launch := holder.Launch{Arm: "bench-" + strconv.FormatInt(time.Now().UnixNano(), 36), Generation: 1, Nonce: "n",
		Dir: h.dir, Argv: argv, Env: os.Environ(), Workdir: "/"}
	_, err := holder.Start(b.Context(), program, launch)
	ok(b, err)
	h.client, err = holder.Dial(h.dir, "n")
	ok(b, err)
	b.Cleanup(h.end)
	return h
}

func (h *held) end() {
	_, _ = h.client.Stop(0)
	h.client.Close()
	_ = holder.AwaitGuard(h.dir)
}

// program returns the command with which the shipped binary starts a holder, as seen in /proc.
func program(b *testing.B) []string {
	b.Helper()
	state := b.TempDir()
	dir := filepath.Join(b.TempDir(), "probe")
	cmd := exec.Command(finalHolder(b), "hold", "--dir", dir, "--", "sleep", "1000")
	cmd.Env = append(os.Environ(), "COLEO_DIR="+state)
	ok(b, cmd.Start())
	var client *holder.Client
	await(b, func() bool {
		var err error
		client, err = holder.Dial(dir, "")
		return err == nil
	})
	exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", cmd.Process.Pid))
	ok(b, err)
	_, _ = client.Stop(0)
	client.Close()
	_ = cmd.Wait()
	return []string{exe, "hold", "--stdin"}
}

func await(b *testing.B, there func() bool) {
	b.Helper()
	for deadline := time.Now().Add(patience); !there(); {
		if time.Now().After(deadline) {
			b.Fatal("it did not come about in time")
		}
	}
}

// BenchmarkHolderSpawn measures the time until a holder with a running program answers a hello.
func BenchmarkHolderSpawn(b *testing.B) {
	program := program(b)
	var took []time.Duration
	for b.Loop() {
		start := time.Now()
		h := hold(b, program, "/bin/cat")
		took = append(took, time.Since(start))
		h.end()
	}
	report(b, took, "connectable")
}

// BenchmarkHolderMemory measures the proportional memory of a holder and its guard, in kB: at the start, under
// load, and at rest after 1,000 keystrokes and 64 MiB of output.
func BenchmarkHolderMemory(b *testing.B) {
	program := program(b)
	for b.Loop() {
		h := hold(b, program, "/bin/sh", "-c",
			"stty raw -echo; while read -r n; do head -c $n /dev/zero; printf E; done")
		s, err := h.client.Status()
		ok(b, err)
		rested := pssAtRest(b, s.Holder.PID)
		b.ReportMetric(rested, "new-kB")
		b.ReportMetric(pss(b, guardOf(b, s.Holder.PID, s.Process.PID)), "guard-kB")
		for i := range 1000 {
			_, err := h.client.Write(holder.Write{ID: fmt.Sprint("k", i), Kind: holder.WriteKeys, Data: []byte("1\n")})
			ok(b, err)
		}
		b.ReportMetric(pss(b, s.Holder.PID), "typed-kB")
		most := h.flood(b, s.Holder.PID, 64<<20)
		b.ReportMetric(most, "busy-kB")
		b.ReportMetric(pssAtRest(b, s.Holder.PID), "rested-kB")
		h.end() // ends this holder, because memory that two holders share would count as half
	}
}

// flood makes the program write n bytes, and returns the holder's peak memory meanwhile.
func (h *held) flood(b *testing.B, pid, n int) float64 {
	b.Helper()
	stream, err := h.client.Lead(b.Context(), 0, 0)
	ok(b, err)
	defer stream.Close()
	_, err = h.client.Write(holder.Write{ID: "flood" + strconv.Itoa(n), Kind: holder.WriteKeys,
		Data: []byte(strconv.Itoa(n) + "\n")})
	ok(b, err)
	most := 0.0
	for got, pieces := 0, 0; got < n; pieces++ {
		c, err := stream.Next()
		ok(b, err)
		got += len(c.Data)
		if pieces%512 == 0 {
			most = max(most, pss(b, pid))
		}
	}
	return most
}

// pssAtRest returns a process's memory when it no longer changes.
func pssAtRest(b *testing.B, pid int) float64 {
	b.Helper()
	const calm = 1500 * time.Millisecond // longer than half a second, after which a holder without events comes to rest
	last, since := pss(b, pid), time.Now()
	await(b, func() bool {
		if now := pss(b, pid); now != last {
			last, since = now, time.Now()
		}
		return time.Since(since) > calm
	})
	return last
}

// pss returns a process's memory in kB. Memory that several processes share is divided among them.
func pss(b *testing.B, pid int) float64 {
	b.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	ok(b, err)
	for line := range strings.Lines(string(raw)) {
		if fields := strings.Fields(line); fields[0] == "Pss:" {
			n, err := strconv.ParseFloat(fields[1], 64)
			ok(b, err)
			return n
		}
	}
	b.Fatal("no Pss in smaps_rollup")
	return 0
}

// guardOf returns the guard. A holder has two children: its program and the guard.
func guardOf(b *testing.B, holder, program int) int {
	b.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", holder, holder))
	ok(b, err)
	// The kernel lists children by thread.
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", holder))
	ok(b, err)
	for _, t := range tasks {
		more, _ := os.ReadFile(t)
		raw = append(append(raw, ' '), more...)
	}
	for _, f := range strings.Fields(string(raw)) {
		if pid, err := strconv.Atoi(f); err == nil && pid != program {
			return pid
		}
	}
	b.Fatalf("holder %d has no guard", holder)
	return 0
}

// keystrokes is how many keystrokes are measured for one result.
const keystrokes = 2000

// BenchmarkHolderEcho measures the time from a key to its echo in µs, in one run: through a plain
// pseudo-terminal, through a holder, and through dtach.
func BenchmarkHolderEcho(b *testing.B) {
	program := program(b)
	var raw, through, other []time.Duration
	for b.Loop() { // the ways take turns, because the times depend most on where the scheduler places the processes
		raw = append(raw, rawEcho(b)...)
		through = append(through, holderEcho(b, program)...)
		other = append(other, dtachEcho(b)...)
	}
	b.ReportMetric(micros(at(raw, 50)), "raw-p50-us")
	b.ReportMetric(micros(at(through, 50)), "holder-p50-us")
	b.ReportMetric(micros(at(through, 99)), "holder-p99-us")
	if other == nil {
		b.Log("dtach is not installed: no comparison (apt-get install dtach)")
		return
	}
	b.ReportMetric(micros(at(other, 50)), "dtach-p50-us")
	b.ReportMetric(micros(at(other, 99)), "dtach-p99-us")
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }

// echoes measures the echoes of single keys. The function `write` types a key, and `read` returns its echo.
func echoes(b *testing.B, write func([]byte), read func() []byte) []time.Duration {
	b.Helper()
	var took []time.Duration
	for i := range keystrokes {
		key := byte('a' + i%26)
		start := time.Now()
		write([]byte{key})
		for !bytes.Contains(read(), []byte{key}) {
		}
		took = append(took, time.Since(start))
	}
	return took
}

func rawEcho(b *testing.B) []time.Duration {
	t, err := device.Start(device.Command{Path: "/bin/cat", Env: os.Environ()})
	ok(b, err)
	return ptyEcho(b, t)
}

func ptyEcho(b *testing.B, t *device.Terminal) []time.Duration {
	defer func() { _ = t.Close(); _ = t.Signal(os.Kill); _, _ = t.Wait() }()
	buf := make([]byte, 4096)
	return echoes(b,
		func(p []byte) { _, err := t.Write(p); ok(b, err) },
		func() []byte { n, err := t.Read(buf); ok(b, err); return buf[:n] })
}

func holderEcho(b *testing.B, program []string) []time.Duration {
	h := hold(b, program, "/bin/cat")
	defer h.end()
	stream, err := h.client.Lead(b.Context(), 0, 0)
	ok(b, err)
	defer stream.Close()
	n := 0
	return echoes(b, func(p []byte) {
		n++
		_, err := h.client.Write(holder.Write{ID: strconv.Itoa(n), Kind: holder.WriteKeys, Data: p})
		ok(b, err)
	}, func() []byte { c, err := stream.Next(); ok(b, err); return c.Data })
}

// dtachEcho measures echoes through dtach's client. It returns nil if dtach is not installed.
func dtachEcho(b *testing.B) []time.Duration {
	path, err := exec.LookPath("dtach")
	if err != nil {
		return nil
	}
	t, err := device.Start(device.Command{Path: path, Args: []string{"-c", filepath.Join(b.TempDir(), "dtach"),
		"-r", "none", "/bin/sh", "-c", "echo READY; exec cat"}, Env: os.Environ()})
	ok(b, err)
	buf := make([]byte, 4096)
	var output []byte // with the program's first output, dtach's client has its terminal in raw mode
	await(b, func() bool {
		n, err := t.Read(buf)
		ok(b, err)
		output = append(output, buf[:n]...)
		return bytes.Contains(output, []byte("READY"))
	})
	return ptyEcho(b, t)
}

// throughputBytes is how much is written for one result, in bytes.
const throughputBytes = 128 << 20

// BenchmarkHolderThroughput measures how fast a program can write, in MB/s: to a plain pseudo-terminal,
// to a holder with one client, and to tmux with and without a client. The results are medians.
func BenchmarkHolderThroughput(b *testing.B) {
	program := program(b)
	seen := map[string][]float64{}
	note := func(unit string, v float64) { seen[unit] = append(seen[unit], v) }
	for b.Loop() {
		raw := rawThroughput(b)
		held := holderThroughput(b, program)
		note("raw-MB/s", raw)
		note("holder-MB/s", held)
		note("of-raw", held/raw)
		if _, err := exec.LookPath("tmux"); err != nil {
			b.Log("tmux is not installed: no comparison")
			continue
		}
		alone, watched := tmuxThroughput(b, false), tmuxThroughput(b, true)
		note("tmux-MB/s", alone)
		note("of-tmux", held/alone)
		note("of-tmux-with-a-client", held/watched)
	}
	for unit, list := range seen {
		slices.Sort(list)
		b.ReportMetric(list[len(list)/2], unit)
	}
}

// writer returns a command that waits for a line, writes n bytes of text in lines, prints DONE, and runs `after`.
func writer(n int, after string) []string {
	return []string{"/bin/sh", "-c",
		"stty raw -echo; read go; yes '0123456789 abcdefghij 0123456789 abcdefghij 0123456789 abcdefghij' | head -c " +
			strconv.Itoa(n) + "; printf DONE; " + after}
}

func rate(n int, d time.Duration) float64 { return float64(n) / 1e6 / d.Seconds() }

func rawThroughput(b *testing.B) float64 {
	argv := writer(throughputBytes, "read x")
	t, err := device.Start(device.Command{Path: argv[0], Args: argv[1:], Env: os.Environ()})
	ok(b, err)
	defer func() { _ = t.Close(); _, _ = t.Wait() }()
	start := time.Now()
	_, err = t.Write([]byte("\n"))
	ok(b, err)
	readUntilDone(b, t)
	return rate(throughputBytes, time.Since(start))
}

// readUntilDone reads until the word DONE.
func readUntilDone(b *testing.B, r io.Reader) {
	b.Helper()
	buf := make([]byte, 64<<10)
	var tail []byte
	for !bytes.Contains(tail, []byte("DONE")) {
		n, err := r.Read(buf)
		ok(b, err)
		tail = append(tail[max(0, len(tail)-4):], buf[:n]...)
	}
}

type streamReader struct{ s *holder.Stream }

func (r streamReader) Read(p []byte) (int, error) {
	c, err := r.s.Next()
	if err == nil && len(c.Data) > len(p) {
		err = errors.New("a piece is larger than the buffer")
	}
	return copy(p, c.Data), err
}

func holderThroughput(b *testing.B, program []string) float64 {
	h := hold(b, program, writer(throughputBytes, "read x")...)
	defer h.end()
	stream, err := h.client.Lead(context.Background(), 0, 0)
	ok(b, err)
	defer stream.Close()
	start := time.Now()
	_, err = h.client.Write(holder.Write{ID: "go", Kind: holder.WriteKeys, Data: []byte("\n")})
	ok(b, err)
	readUntilDone(b, streamReader{stream})
	return rate(throughputBytes, time.Since(start))
}

// tmuxThroughput measures a program in tmux. If `watched` is true, one client reads the output.
func tmuxThroughput(b *testing.B, watched bool) float64 {
	done := filepath.Join(b.TempDir(), "done")
	sock := filepath.Join(b.TempDir(), "tmux")
	argv := writer(throughputBytes, "touch "+done+"; read x")
	ok(b, exec.Command("tmux", append([]string{"-f", "/dev/null", "-S", sock, "new-session", "-d", "-x", "120", "-y",
		"40"}, argv...)...).Run())
	defer func() { _ = exec.Command("tmux", "-S", sock, "kill-server").Run() }()
	if watched {
		tmux, err := exec.LookPath("tmux")
		ok(b, err)
		t, err := device.Start(device.Command{Path: tmux, Args: []string{"-S", sock, "attach"},
			Env: append(os.Environ(), "TERM=xterm-256color")})
		ok(b, err)
		defer func() { _ = t.Close(); _, _ = t.Wait() }()
		_, err = t.Read(make([]byte, 1)) // waits until the client draws
		ok(b, err)
		go func() { _, _ = io.Copy(io.Discard, t) }()
	}
	start := time.Now()
	ok(b, exec.Command("tmux", "-S", sock, "send-keys", "C-j").Run())
	await(b, func() bool {
		time.Sleep(time.Millisecond)
		_, err := os.Stat(done)
		return err == nil
	})
	return rate(throughputBytes, time.Since(start))
}
