package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/term"

	"coleo.dev"
	"coleo.dev/wire"
)

// The fake printer is an agent CLI that only writes output. The output is known in advance, so each
// lost or doubled byte can be found. No real agent CLI can be made to write a given output.
const (
	printerStop  = ".stop"      // a file in the work folder; the printer stops when it exists
	printerSize  = ".said.json" // a file with the size of the output, in bytes; written when the printer has stopped
	printerPause = 5 * time.Millisecond
	printerBlock = 2000 // most bytes between two pauses, which gives about 200 kB/s
)

// playPrinter is the program of the fake printer. It writes to its terminal until it must stop, and
// then waits until the terminal closes. What it writes depends on its kind, args[1]:
//   - "text" and "binary": the output that printed returns.
//   - "flood": output as fast as it can.
//   - "echo": each key that it receives.
func playPrinter(args []string) int {
	if len(args) != 2 {
		fmt.Println("printer: want a work folder and a kind, got", args)
		return 2
	}
	if err := print(args[0], args[1]); err != nil {
		fmt.Println("printer:", err)
		return 1
	}
	out := io.Discard
	if args[1] == "echo" {
		out = os.Stdout
	}
	_, _ = io.Copy(out, os.Stdin)
	return 0
}

func print(dir, kind string) error {
	if _, err := term.MakeRaw(1); err != nil {
		return err
	}
	if kind == "echo" {
		return nil
	}
	at := 0
	for block := 0; !exists(filepath.Join(dir, printerStop)); block++ {
		n := 1 + rand.IntN(printerBlock)
		if kind == "flood" {
			n = 64 << 10
		}
		if _, err := os.Stdout.Write(printed(kind, at, n)); err != nil {
			return err
		}
		at += n
		if kind != "flood" {
			time.Sleep(printerPause)
		}
	}
	size, err := json.Marshal(at)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, printerSize+".new"), size, 0o600)
	}
	if err == nil {
		err = os.Rename(filepath.Join(dir, printerSize+".new"), filepath.Join(dir, printerSize))
	}
	return err
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// printed returns `n` bytes of the endless output of a kind, from the offset `at`. The kind "text"
// writes lines with wide and combined characters and colours, all over the screen. The kind
// "binary" writes every byte and, sooner or later, every escape sequence.
func printed(kind string, at, n int) []byte {
	piece := func(i int) []byte {
		x := uint64(i+1) * 0x9e3779b97f4a7c15
		return binary.LittleEndian.AppendUint64(nil, x^x>>31)
	}
	switch kind {
	case "text":
		piece = func(i int) []byte {
			return fmt.Appendf(nil, "\x1b[%02d;%02dH\x1b[3%dm%09d Grüße, 世界 🙂 é\x1b[0m\n", 1+i*7%40, 1+i*13%90, i%8,
				i%1e9)
		}
	case "flood":
		piece = func(int) []byte { return []byte("yes yes\r\n") }
	}
	size := len(piece(0))
	var out []byte
	for i := at / size; len(out) < at%size+n; i++ {
		out = append(out, piece(i)...)
	}
	return out[at%size:][:n]
}

// printer is an arm whose agent CLI is a fake printer.
type printer struct {
	*world
	name, kind, workdir string
	pid                 int
}

// spawnPrinter starts an arm that prints.
func (w *world) spawnPrinter(name, kind string) *printer {
	w.t.Helper()
	p := &printer{world: w, name: name, kind: kind, workdir: w.path("work-" + name)}
	w.check(os.MkdirAll(p.workdir, 0o700))
	reply := decode[wire.SpawnReply](w, "arm", "spawn", "-n", name, "-w", p.workdir, "--harness", "printer", "--model",
		kind, "--no-wait")
	p.pid = reply.PID
	return p
}

// stop stops the output and returns its size, in bytes.
func (p *printer) stop() int {
	p.t.Helper()
	p.check(os.WriteFile(filepath.Join(p.workdir, printerStop), nil, 0o600))
	size := filepath.Join(p.workdir, printerSize)
	until(p.t, p.name+" has stopped to print", func() bool { return exists(size) })
	raw, err := os.ReadFile(size)
	p.check(err)
	var n int
	p.check(json.Unmarshal(raw, &n))
	return n
}

// journal returns the output of an arm as viewers receive it.
func (w *world) journal(name string, size int) []byte {
	w.t.Helper()
	client, err := w.client()
	w.check(err)
	var out []byte
	for len(out) < size {
		piece, err := client.Output(w.t.Context(), name, int64(len(out)), patience)
		w.check(err)
		if piece.Offset != int64(len(out)) || len(piece.Data) == 0 {
			w.t.Fatalf("output of %s from %d: %d bytes from %d on, end %v", name, len(out), len(piece.Data),
				piece.Offset, piece.End)
		}
		out = append(out, piece.Data...)
	}
	return out
}

// untouched checks that the arm's journal contains exactly the printer's output. The arm's screen
// must equal a screen that receives the whole output at once.
func (p *printer) untouched() {
	p.t.Helper()
	size := p.stop()
	got, want := p.journal(p.name, size), printed(p.kind, 0, size)
	if string(got) != string(want) {
		p.t.Errorf("%s: the output kept differs from the output at byte %d of %d", p.name, difference(got, want), size)
	}
	p.write(p.name+".raw", string(want))
	clean := decode[coleo.Screen](p.world, "screen", p.path(p.name+".raw"), "--size", "120x40")
	until(p.t, p.name+" shows all", func() bool {
		now := decode[coleo.Screen](p.world, "arm", "screen", p.name)
		return strings.Join(now.Lines, "\n") == strings.Join(clean.Lines, "\n") && now.Cursor == clean.Cursor &&
			now.Title == clean.Title
	})
}

// difference returns the offset of the first different byte.
func difference(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}
