package main

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

func TestTheDoctorNamesWhatIsWrongAndItsMending(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	type report struct{ Findings []finding }
	has := func(code int, check, wrong, mend string) {
		t.Helper()
		r := f.run("--json", "doctor")
		got := decodeText[report](t, r.out)
		for _, found := range got.Findings {
			if found.Check == check && strings.Contains(found.Wrong, wrong) && strings.Contains(found.Mend, mend) {
				if r.code != code {
					t.Errorf("doctor exits with %d at %+v, want %d", r.code, found, code)
				}
				return
			}
		}
		t.Errorf("doctor found %+v, want %q at %s, and %q", got.Findings, wrong, check, mend)
	}
	if r := f.run("doctor"); r.code != 0 || !strings.Contains(r.out, "ok    serve and host agent") ||
		strings.Contains(r.out, "BAD") {
		t.Errorf("all is well: %v", r)
	}
	f.write("config/harnesses/wrong.toml", "name = 3\n")
	has(0, "harness files", "wrong.toml:1", "edit that file")
	f.check(os.Remove(f.path("config/harnesses/wrong.toml")))
	f.check(os.Chmod(f.path("config/config.toml"), 0o666))
	has(1, "config.toml", "others can write", "")
	f.check(os.Chmod(f.path("config/config.toml"), 0o600))
	f.check(os.Chmod(f.path("state"), 0o755))
	has(1, "state folder", "open to other users", "chmod 700")
	f.check(os.Chmod(f.path("state"), 0o700))
	f.check(syscall.Kill(f.pid, syscall.SIGSTOP))
	until(t, "the frozen agent CLI is told", func() bool { return f.arm(f.name).Runtime.Frozen })
	has(0, "arms", "arm one", "kill -CONT "+strconv.Itoa(f.pid))
	f.check(syscall.Kill(f.pid, syscall.SIGCONT))
	serve := f.onlyProcess("serve")
	f.check(syscall.Kill(serve, syscall.SIGSTOP))
	has(1, "serve and host agent", "is stopped", "kill -CONT "+strconv.Itoa(serve))
	f.check(syscall.Kill(serve, syscall.SIGCONT))
	f.must("down")
	has(0, "serve and host agent", "does not run", "coleo up")
	f.must("up")
}

func decodeText[T any](t *testing.T, text string) T {
	t.Helper()
	var v T
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

// TestTheDoctorStartsAHostAgentBeforeItRecoversArms: while the host agent is away, nothing can recover its arms.
// So the doctor must first advise to start the host agent.
func TestTheDoctorStartsAHostAgentBeforeItRecoversArms(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.loseHostAgent()
	r := f.run("doctor")
	if !strings.Contains(r.out, "arm "+f.name) || strings.Contains(r.out, "arm recover") {
		t.Errorf("the doctor says %v", r)
	}
}
