package peers

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"coleo.dev/pty"
)

const (
	// tmuxBytes is how much is sent through tmux, in bytes. It is large because tmux's time is
	// counted in ticks of 10 ms.
	tmuxBytes = 24 << 20
	// tick is the unit of times in /proc, because USER_HZ is 100 on Linux.
	tick = 10 * time.Millisecond
)

// tmuxPerByte sends writes through a pane of a separate tmux server. It returns the server's user
// time per byte in ns, or false if there is no tmux or no /proc.
func tmuxPerByte(b *testing.B, writes [][]byte) (ns float64, ok bool) {
	b.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		return 0, false
	}
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		return 0, false
	}
	dir := b.TempDir()
	file, times := trafficFile(b, dir, writes)
	run := func(args ...string) string {
		cmd := exec.Command("tmux", append([]string{"-L", "coleo-bench", "-f", "/dev/null"}, args...)...)
		cmd.Env = append(os.Environ(), "TMUX_TMPDIR="+dir, "TERM=screen-256color", "LC_ALL=C.UTF-8")
		out, err := cmd.CombinedOutput()
		if err != nil {
			b.Fatalf("tmux %v: %v: %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	pane := fmt.Sprintf("stty raw -echo; tmux wait-for go; for i in $(seq %d); do cat '%s'; done; "+
		"tmux wait-for -S done; exec cat >/dev/null", times, file)
	run("new-session", "-d", "-x", strconv.Itoa(pty.DefaultCols), "-y", strconv.Itoa(pty.DefaultRows), pane)
	defer run("kill-server")
	server := run("display-message", "-p", "#{pid}")
	before := userTime(b, server)
	run("wait-for", "-S", "go")
	run("wait-for", "done")
	run("capture-pane", "-p") // returns only after all earlier output was processed
	took := userTime(b, server) - before
	return perByte(took, times*size(writes)), true
}

// trafficFile writes everything to a file, and returns how often the file must be sent.
func trafficFile(b *testing.B, dir string, writes [][]byte) (path string, times int) {
	b.Helper()
	path = filepath.Join(dir, "traffic")
	var all []byte
	for _, w := range writes {
		all = append(all, w...)
	}
	if err := os.WriteFile(path, all, 0o600); err != nil {
		b.Fatal(err)
	}
	return path, tmuxBytes/len(all) + 1
}

// userTime returns the time that a process has used outside the kernel.
func userTime(b *testing.B, pid string) time.Duration {
	b.Helper()
	raw, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		b.Fatal(err)
	}
	const utime = 11 // index of the field, counted from the field after the name
	fields := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:]))
	n, err := strconv.Atoi(fields[utime])
	if err != nil {
		b.Fatal(err)
	}
	return time.Duration(n) * tick
}
