package host

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"coleo.dev/conformance/fakeagent"
)

// fakeTape follows the record of a fake agent CLI, piece by piece. The record proves what has
// reached the agent CLI.
type fakeTape struct {
	path   string // the path of the work folder
	read   int64  // offset in the file
	rest   []byte
	pid    int
	state  string // "" before the first state and after the end of the agent CLI
	bytes  int    // number of bytes that the agent CLI has read
	starts int
	own    int // number of turns that the agent CLI has begun or refused to begin by itself
	chosen int // number of options that were chosen in dialogs

	prompts map[string]int // how often each text was submitted
	keys    []string       // keys that have reached a dialog since the last check
}

// update reads the new part of the record.
func (f *fakeTape) update(t *testing.T) {
	t.Helper()
	file, err := os.Open(filepath.Join(f.path, fakeagent.RecordFile))
	if os.IsNotExist(err) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	piece := make([]byte, info.Size()-f.read)
	n, _ := file.ReadAt(piece, f.read)
	f.read += int64(n)
	f.rest = append(f.rest, piece[:n]...)
	for {
		line, rest, whole := bytes.Cut(f.rest, []byte("\n"))
		if !whole {
			return
		}
		f.rest = rest
		var e fakeagent.Entry
		if err := json.Unmarshal(line, &e); err != nil { // a killed fake agent CLI can leave an incomplete line
			continue
		}
		f.take(e)
	}
}

func (f *fakeTape) take(e fakeagent.Entry) {
	switch e.Kind {
	case fakeagent.Started:
		f.pid, _ = strconv.Atoi(e.Text)
		f.state = ""
		f.starts++
	case fakeagent.Bytes:
		f.bytes += len(e.Bytes)
		if f.state == "dialog" {
			f.keys = append(f.keys, string(e.Bytes))
		}
	case fakeagent.Prompted:
		if f.prompts == nil {
			f.prompts = map[string]int{}
		}
		f.prompts[e.Text]++
	case fakeagent.Chosen:
		f.chosen++
	case fakeagent.InState:
		f.state = e.Text
	case fakeagent.ByItself:
		f.own++
	case fakeagent.Ended:
		f.state = ""
	default:
	}
}

// beginOwn makes the fake agent CLI begin a turn by itself. It returns when the agent CLI has begun
// the turn or has refused to.
func (h *faultStage) beginOwn(a *faultArm, commands string) {
	h.mu.Lock()
	a.tape.update(h.t)
	pid, before := a.tape.pid, a.tape.own
	h.mu.Unlock()
	path := filepath.Join(a.tape.path, fakeagent.OrdersFile)
	if err := os.WriteFile(path, []byte(commands), 0o600); err != nil {
		h.t.Error(err)
	}
	if !h.runsFake(a, pid) || syscall.Kill(pid, syscall.SIGUSR1) != nil {
		return
	}
	h.until("the agent CLI has got its signal", func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		a.tape.update(h.t)
		return a.tape.own > before || !h.runsFake(a, pid)
	})
}

// runsFake reports whether the process is the arm's fake agent CLI, and not a zombie.
func (h *faultStage) runsFake(a *faultArm, pid int) bool {
	line, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	return err == nil && pid > 0 && strings.Contains(string(line), filepath.Base(a.tape.path))
}
