package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/conformance"
	"coleo.dev/conformance/fakeagent"
)

// leaks returns the files in the state folder and the answers of the API that contain a word. It
// ignores the file in which Coleo stores an arm's environment.
func (w *world) leaks(arm, word string) []string {
	w.t.Helper()
	var out []string
	w.check(filepath.WalkDir(w.path("state"), func(path string, d fs.DirEntry, err error) error {
		var raw []byte
		if err == nil && d.Type().IsRegular() && d.Name() != "env.json" {
			raw, err = os.ReadFile(path)
		}
		if bytes.Contains(raw, []byte(word)) {
			out = append(out, path)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil // Coleo can delete a temporary file during the walk
		}
		return err
	}))
	for _, route := range []string{"/api/arms?includeAll=true", "/api/arms/" + arm,
		"/api/arms/" + arm + "/events?limit=1000", "/api/arms/" + arm + "/explain", "/api/audit", "/api/agents",
		"/api/status"} {
		if answer := w.get(route); strings.Contains(answer, word) || !strings.HasPrefix(answer, "{") {
			out = append(out, "GET "+route+": "+answer)
		}
	}
	for _, args := range [][]string{{"audit"}, {"--json", "audit", arm}, {"arm", "status", arm},
		{"--json", "arm", "list", "--all"}, {"doctor"}} {
		if r := w.run(args...); strings.Contains(r.out+r.err, word) {
			out = append(out, r.String())
		}
	}
	for _, p := range w.processes() {
		if strings.Contains(strings.Join(p.argv, " "), word) {
			out = append(out, "argv of "+strings.Join(p.argv, " "))
		}
	}
	return out
}

// get sends a GET request to the API's socket.
func (w *world) get(route string) string {
	w.t.Helper()
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", w.path("state/serve.sock"))
	}
	client := http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
	q, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, "http://127.0.0.1"+route, nil)
	w.check(err)
	answer, err := client.Do(q)
	w.check(err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	w.check(err)
	return string(body)
}

// checkEnv checks the value of a variable in the agent CLI's process.
func (f *fake) checkEnv(name, want string) {
	f.t.Helper()
	if got := f.environ()[name]; got != want {
		f.t.Fatalf("%s is %q in the agent CLI's environment, want %q", name, got, want)
	}
}

func TestAnArmKeepsItsEnvironmentAndNobodyElseDoes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	first, second, third := conformance.Nonce(), conformance.Nonce(), conformance.Nonce()
	w.env = append(w.env, "FROM_HERE="+third)
	w.write("secrets.env", "# for the test\nexport FROM_FILE=\""+second+"\"\n")
	f := &fake{world: w, name: "one", workdir: w.workdir("one", fakeagent.Script{})}
	spawned := w.run("arm", "spawn", "-n", "one", "-w", f.workdir, "--harness", "fake", "-e", "GIVEN="+first,
		"--env-file", w.path("secrets.env"), "-e", "FROM_HERE")
	if spawned.code != 0 || strings.Contains(spawned.err, "others can read") {
		t.Fatal(spawned)
	}
	has := func(when string) {
		t.Helper()
		f.checkEnv("GIVEN", first)
		f.checkEnv("FROM_FILE", second)
		f.checkEnv("FROM_HERE", third)
		for _, word := range []string{first, second, third} {
			if found := w.leaks(f.name, word); len(found) > 0 {
				t.Errorf("%s a value stands in:\n%s", when, strings.Join(found, "\n"))
			}
		}
		file := w.path("state/arms/" + w.arm(f.name).ID + "/env.json")
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s the kept environment is %v, %v; want a file of mode 0600", when, info, err)
		}
		if text := w.must("arm", "status", f.name); !strings.Contains(text, "FROM_FILE, FROM_HERE, GIVEN") {
			t.Errorf("%s arm status does not name the variables:\n%s", when, text)
		}
	}
	has("after the spawn")
	again := func(when string) {
		t.Helper()
		w.must("arm", "kill", f.name)
		w.check(os.Remove(filepath.Join(f.workdir, fakeEnviron)))
		w.must("arm", "recover", f.name)
		w.wait(f.name, coleo.Idle)
		has(when)
	}
	again("after recover")
	for _, lost := range [][]string{{}, {"host"}, {"serve"}, {"host", "serve"}} {
		w.must("down")
		for _, db := range lost {
			for _, side := range []string{"", "-wal", "-shm"} {
				_ = os.Remove(w.path("state/" + db + ".db" + side))
			}
		}
		w.must("up")
		until(t, "the arm is known", func() bool { return w.run("arm", "status", f.name).code == 0 })
		again("after a restart without the databases of " + strings.Join(lost, ", "))
	}
	file := w.path("state/arms/" + w.arm(f.name).ID + "/env.json")
	w.must("backup", w.path("backup.tar.gz"))
	if raw, err := os.ReadFile(file); err != nil || !bytes.Contains(raw, []byte(first)) {
		t.Fatalf("the kept environment is %q, %v", raw, err)
	}
	w.must("arm", "kill", f.name)
	w.must("arm", "remove", f.name)
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("after remove the kept environment is still there: %v", err)
	}
}

func TestARealProgramHasTheEnvironmentAfterRecoverToo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	nonce := conformance.Nonce()
	w.env = append(w.env, "GIVEN="+nonce)
	w.must("arm", "spawn", "-n", "shell", "-w", w.workdirOf("shell"), "--harness", "generic", "-e", "GIVEN")
	for _, when := range []string{"after the spawn", "after recover"} {
		w.must("arm", "prompt", "shell", "--wait", `printf %s "$GIVEN" > seen`)
		if got := w.read("work-shell/seen"); got != nonce {
			t.Errorf("%s the program wrote %q, want %q", when, got, nonce)
		}
		if found := w.leaks("shell", nonce); len(found) > 0 {
			t.Errorf("%s the value stands in:\n%s", when, strings.Join(found, "\n"))
		}
		w.check(os.Remove(w.path("work-shell/seen")))
		w.must("arm", "kill", "shell")
		w.must("arm", "recover", "shell")
	}
}

func TestAnArmWhoseEnvironmentIsLostIsNotStartedWithoutIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	f := &fake{world: w, name: "one", workdir: w.workdir("one", fakeagent.Script{})}
	w.must("arm", "spawn", "-n", "one", "-w", f.workdir, "--harness", "fake", "-e", "GIVEN=old")
	w.must("arm", "kill", "one")
	w.check(os.Remove(w.path("state/arms/" + w.arm("one").ID + "/env.json")))
	if e := w.fails(5, "arm", "recover", "one"); !strings.Contains(e.Message, "GIVEN") ||
		!strings.Contains(e.Message, "nothing was started") {
		t.Errorf("recover: %+v, want an error that names what is missing", e)
	}
	w.must("arm", "spawn", "-n", "one", "-w", f.workdir, "--harness", "fake", "-e", "GIVEN=new")
	f.checkEnv("GIVEN", "new")
	w.must("arm", "kill", "one")
	w.must("arm", "spawn", "-n", "one", "-w", f.workdir, "--harness", "fake", "-e", "OTHER=only")
	f.checkEnv("OTHER", "only")
	f.checkEnv("GIVEN", "")
}

func TestARefusedStartLeavesTheEnvironmentAsItWas(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	f := &fake{world: w, name: "one", workdir: w.workdir("one", fakeagent.Script{})}
	w.must("arm", "spawn", "-n", "one", "-w", f.workdir, "--harness", "fake", "-e", "GIVEN=old")
	w.must("arm", "kill", "one")
	w.check(os.Rename(w.path("bin/fakeagent"), w.path("bin/away")))
	if r := w.run("arm", "spawn", "-n", "one", "-w", f.workdir, "-e", "OTHER=refused"); r.code == 0 {
		t.Fatal(r)
	}
	w.check(os.Rename(w.path("bin/away"), w.path("bin/fakeagent")))
	w.must("arm", "recover", "one")
	f.checkEnv("GIVEN", "old")
	f.checkEnv("OTHER", "")
}

func TestBadVariablesAreRefusedInOneLineWithoutTheirValues(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.write("bad.env", "# comment\nFINE=1\nCOLEO_DIR=hunter2\n")
	w.write("quote.env", "A='hunter2\n")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"-e", "1A=hunter2"}, `"1A"`},
		{[]string{"-e", "LD_PRELOAD=hunter2"}, "LD_PRELOAD"},
		{[]string{"-e", "NOT_SET_HERE"}, "NOT_SET_HERE is not set"},
		{[]string{"--env-file", w.path("none.env")}, "none.env"},
		{[]string{"--env-file", w.path("bad.env")}, "bad.env, line 3: the environment variable COLEO_DIR"},
		{[]string{"--env-file", w.path("quote.env")}, "quote.env, line 1: the value of A has no closing '"},
	} {
		r := w.run(append([]string{"arm", "spawn", "-n", "one", "-w", w.dir, "--harness", "fake"}, c.args...)...)
		if r.code != 2 || strings.Count(r.err, "\n") != 1 || !strings.Contains(r.err, c.want) ||
			strings.Contains(r.err, "hunter2") {
			t.Errorf("%v\nwant exit 2 and one line with %q, without the value", r, c.want)
		}
	}
	w.check(os.Chmod(w.path("quote.env"), 0o644))
	if r := w.run("arm", "spawn", "-n", "one", "-w", w.dir, "--harness", "fake", "--env-file",
		w.path("quote.env")); !strings.Contains(r.err, "chmod 600") {
		t.Errorf("%v\nwant a word on the file that others can read", r)
	}
	// These checks need the host agent, because only it knows which variables the harness sets.
	w.must("up")
	own := w.fails(2, "arm", "spawn", "-n", "two", "-w", w.dir, "--harness", "generic", "-e", "PS1=hunter2")
	if !strings.Contains(own.Message, "PS1") || strings.Contains(own.Message, "hunter2") {
		t.Errorf("a variable that the harness sets: %+v", own)
	}
	if found := w.leaks("none", "hunter2"); slices.ContainsFunc(found,
		func(s string) bool { return strings.Contains(s, "hunter2") }) {
		t.Errorf("a refused value stands in %v", found)
	}
}
