package peers

import (
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"
	"github.com/hinshun/vt10x"

	"coleo.dev/pty"
)

// These are the limits for Core: for agents' output, Core may take at most a fifth of vt10x's time and a
// quarter of tmux's.
const (
	vt10xBar = 5
	tmuxBar  = 4
)

// peer is an emulator that receives the same writes as the others.
type peer struct {
	name  string
	write func(p []byte)
	took  time.Duration
	err   any // the value of a panic; nil if there was none
}

// BenchmarkPeers sends each kind of output to all emulators in turns, so that a busy machine slows
// all of them alike. It reports ns/byte, and each emulator's time divided by Core's. If tmux is
// installed, its server's user time is compared too. That time does not include reading from the
// terminal.
func BenchmarkPeers(b *testing.B) {
	for _, x := range allTraffic(b) {
		b.Run(x.name, func(b *testing.B) { compare(b, x) })
	}
}

func compare(b *testing.B, x traffic) {
	list := peers(b)
	bytes := size(x.writes)
	for b.Loop() {
		for i := range list {
			list[i].feed(x.writes)
		}
	}
	b.ReportMetric(0, "ns/op") // a total over all emulators would be meaningless
	core := perByte(list[0].took, b.N*bytes)
	b.ReportMetric(core, "core-ns/byte")
	for _, p := range list[1:] {
		if p.err != nil {
			b.Logf("%s gave up on %s traffic: %v", p.name, x.name, p.err)
			continue
		}
		report(b, p.name, perByte(p.took, b.N*bytes), core)
	}
	if ratio := float64(list[1].took) / float64(list[0].took); x.name == "agent" && ratio < vt10xBar {
		b.Errorf("vt10x takes %.1f times as long on agent traffic, want %d", ratio, vt10xBar)
	}
	ns, ok := tmuxPerByte(b, x.writes)
	if !ok {
		b.Log("no tmux here: not compared with")
		return
	}
	report(b, "tmux", ns, core)
	if x.name == "agent" && ns/core < tmuxBar {
		b.Errorf("tmux takes %.1f times as long on agent traffic, want %d", ns/core, tmuxBar)
	}
}

func perByte(took time.Duration, bytes int) float64 {
	return float64(took.Nanoseconds()) / float64(bytes)
}

func report(b *testing.B, name string, ns, core float64) {
	b.ReportMetric(ns, name+"-ns/byte")
	b.ReportMetric(ns/core, name+"/core")
}

// peers returns new emulators, Core first and vt10x second.
func peers(b *testing.B) []peer {
	b.Helper()
	core := pty.New(pty.DefaultCols, pty.DefaultRows)
	old := vt10x.New(vt10x.WithSize(pty.DefaultCols, pty.DefaultRows))
	charm := vt.NewEmulator(pty.DefaultCols, pty.DefaultRows)
	done := make(chan struct{})
	go func() { // on a query, the emulator blocks until somebody reads the answer
		defer close(done)
		_, _ = io.Copy(io.Discard, charm)
	}()
	b.Cleanup(func() {
		_ = charm.Close()
		<-done
	})
	return []peer{
		{name: "core", write: func(p []byte) {
			_, _ = core.Write(p)
			core.Replies()
			core.Notices()
		}},
		{name: "vt10x", write: func(p []byte) { _, _ = old.Write(p) }},
		{name: "charm-vt", write: func(p []byte) { _, _ = charm.Write(p) }},
	}
}

// feed writes everything to the emulator. It does nothing if the emulator has already panicked.
func (p *peer) feed(writes [][]byte) {
	if p.err != nil {
		return
	}
	defer func() {
		if r := recover(); r != nil {
			p.err = fmt.Sprint(r)
		}
	}()
	start := time.Now()
	for _, w := range writes {
		p.write(w)
	}
	p.took += time.Since(start)
}
