package holder

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/holder/process"
)

// asker is a Python program that an arm runs. It connects to the holder in the folder of its argument, sends a
// hello, and prints the answer.
const asker = `import json, os, socket, struct, sys
s = socket.socket(socket.AF_UNIX)
os.chdir(sys.argv[1]) # the whole path is too long for an address
s.connect("hold.sock")
hello = json.dumps({"op": "hello", "version": 1, "nonce": "n1"}).encode()
try:
    s.sendall(b"q" + struct.pack(">I", len(hello)) + hello)
except BrokenPipeError:
    pass
print(s.recv(4096)[5:].decode())
`

func TestAHolderWantsItsNonce(t *testing.T) {
	t.Parallel()
	_, l := start(t, "sleep 1000")
	if _, err := Dial(l.Dir, "another"); coleo.ErrorCode(err) != coleo.EUnproven {
		t.Errorf("Dial with another nonce = %v, want %s", err, coleo.EUnproven)
	}
	c, err := Dial(l.Dir, "")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if s, err := c.Status(); err != nil || s.Arm != l.Arm || s.Nonce != "" {
		t.Errorf("without a nonce the status is %+v, %v", s, err)
	}
	for what, ask := range map[string]func() error{
		"keys":   func() error { _, err := c.Write(Write{ID: "1", Kind: WriteKeys, Data: []byte("\r")}); return err },
		"a size": func() error { return c.Resize(80, 24) },
		"signal": func() error { return c.Signal(0) },
		"stop":   func() error { _, err := c.Stop(0); return err },
	} {
		if err := ask(); coleo.ErrorCode(err) != coleo.EUnproven {
			t.Errorf("%s without a nonce: %v, want %s", what, err, coleo.EUnproven)
		}
	}
	if s, err := dial(t, l).Status(); err != nil || s.Nonce != l.Nonce || s.Exit != nil {
		t.Errorf("the status is %+v, %v", s, err)
	}
}

// A holder refuses every process of an arm, even one that knows a holder's nonce. It also recognizes a process
// that has removed COLEO_ARM, the arm's mark, from its environment and has left its session.
func TestAnArmIsNoVisitor(t *testing.T) {
	t.Parallel()
	_, other := start(t, "sleep 1000")
	script := filepath.Join(t.TempDir(), "asker.py")
	if err := os.WriteFile(script, []byte(asker), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, way := range []string{"", "env -u COLEO_ARM setsid --wait "} {
		_, l := start(t, way+"python3 "+script+" "+other.Dir+"; sleep 1000")
		wait(t, func() bool {
			raw, _ := os.ReadFile(firstBytes(l.Dir))
			return strings.Contains(string(raw), "}")
		})
		raw, err := os.ReadFile(firstBytes(l.Dir))
		if err != nil || !strings.Contains(string(raw), string(coleo.EForbidden)) ||
			!strings.Contains(string(raw), "belongs to arm") {
			t.Errorf("by %q the arm was answered %s (%v), want forbidden", way, raw, err)
		}
	}
}

func TestTheProgramDoesNotLearnTheNonce(t *testing.T) {
	t.Parallel()
	_, l := startLaunch(t, func(l *Launch) {
		l.Nonce = "not-for-the-program"
	}, "/bin/sh", "-c", "env; echo done; sleep 1000")
	wait(t, func() bool {
		raw, _ := os.ReadFile(firstBytes(l.Dir))
		return strings.Contains(string(raw), "done")
	})
	raw, err := os.ReadFile(firstBytes(l.Dir))
	if err != nil || strings.Contains(string(raw), l.Nonce) ||
		!strings.Contains(string(raw), process.EnvArm+"="+l.mark()+"\r\n") {
		t.Errorf("the program's environment is %s (%v)", raw, err)
	}
}

// firstBytes returns the path of the first file of a journal.
func firstBytes(dir string) string {
	return filepath.Join(JournalDir(dir), strings.Repeat("0", 16)+".bytes")
}
