package main

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"coleo.dev/api/apiclient"
	"coleo.dev/wire"
)

// These flags set the size of the flood, and how soon a typed key must appear. That time limit
// needs an otherwise idle machine and a build without the race detector. `make soak` provides both.
var (
	floodKeys = flag.Int("keys", 60, "how many keys the quiet arm echoes during the flood")
	flooding  = flag.Int("floods", 2, "how many arms flood: the race detector makes a host agent twenty times as slow")
	floodEcho = flag.Duration("echo", 0, "what 99 of 100 of these keys must keep to; 0: only print it")
)

// floodMemory bounds the memory that the host agent may take, in bytes. It allows 100 MB for the
// host agent and 10 MB for each of 10 arms. However much the arms print, the host agent must not
// take more.
const floodMemory = 200 << 20

// TestAFloodLeavesTheOthersAlone makes some arms print as fast as they can beside a quiet arm. It
// bounds how soon typed keys appear in the quiet arm, and how much memory the host agent takes.
func TestAFloodLeavesTheOthersAlone(t *testing.T) {
	w := newWorld(t, "[arms]\nmax_arms = 11\n")
	quiet := w.spawnPrinter("quiet", "echo")
	for i := range *flooding {
		w.spawnPrinter(fmt.Sprintf("flood-%d", i), "flood")
	}
	took := quiet.echo(*floodKeys)
	slices.Sort(took)
	p50, p99 := took[len(took)/2], took[len(took)*99/100]
	memory := w.peak(w.onlyProcess("agent"))
	t.Logf("echo of %d keys beside %d floods: p50 %s, p99 %s; the host agent took %d MB",
		len(took), *flooding, p50, p99, memory>>20)
	if *floodEcho > 0 && p99 > *floodEcho {
		t.Errorf("p99 of the echo is %s, want %s at most", p99, *floodEcho)
	}
	if memory > floodMemory {
		t.Errorf("the host agent took %d MB, want %d at most", memory>>20, floodMemory>>20)
	}
}

// echo types keys one after another, as the dashboard does. It returns how long each key took to
// appear.
func (p *printer) echo(keys int) []time.Duration {
	p.t.Helper()
	client, err := p.client()
	p.check(err)
	lease, err := client.Lease(p.t.Context(), p.name, wire.LeaseRequest{Holder: "the test"})
	p.check(err)
	var out []time.Duration
	for i := range keys {
		out = append(out, p.key(client, lease.ID, int64(i)))
	}
	return out
}

func (p *printer) key(client *apiclient.Client, lease string, at int64) time.Duration {
	p.t.Helper()
	begin := time.Now()
	p.check(client.Input(p.t.Context(), p.name, lease, []byte("x")))
	for {
		piece, err := client.Output(p.t.Context(), p.name, at, patience)
		p.check(err)
		if bytes.Equal(piece.Data, []byte("x")) {
			return time.Since(begin)
		}
		if len(piece.Data) > 0 || piece.End {
			p.t.Fatalf("the echo at %d is %q", at, piece.Data)
		}
	}
}

// peak returns the most memory that a process has used so far, in bytes.
func (w *world) peak(pid int) int {
	w.t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	w.check(err)
	lines := bufio.NewScanner(bytes.NewReader(raw))
	for lines.Scan() {
		if value, ok := strings.CutPrefix(lines.Text(), "VmHWM:"); ok {
			kb, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(value), " kB"))
			w.check(err)
			return kb << 10
		}
	}
	w.t.Fatalf("no VmHWM of process %d", pid)
	return 0
}
