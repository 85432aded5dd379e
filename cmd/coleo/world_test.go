package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/wire"
)

// patience bounds every wait of these tests. It is far longer than any step takes, even on a
// machine on which eight other programs compete for each core. A wait ends as soon as its condition
// holds.
const patience = 3 * time.Minute

// world is one installation of Coleo with its own folder, bus and arms. Everything that a test
// starts in it ends with the test.
type world struct {
	t    *testing.T
	dir  string // COLEO_DIR; also contains bin/, home/ and the work folders
	home string
	env  []string            // environment of the command lines, without the test's own variables
	user *syscall.Credential // the user who runs the command lines; nil means the user who runs the test

	ending []func() // called when nothing is running any more
}

// newWorld creates the folders and config.toml. The text `config` is appended to config.toml.
func newWorld(t *testing.T, config string) *world {
	t.Helper()
	w := newFolder(t, "version = 1\n"+config)
	t.Cleanup(w.end)
	return w
}

// skipIfShort skips a test of the whole of Coleo if -short is set.
func skipIfShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("it runs the whole of Coleo: leave out -short")
	}
}

// newFolder is like newWorld, but ends nothing afterwards. It is for tests that start nothing with
// `up`.
func newFolder(t *testing.T, config string) *world {
	t.Helper()
	skipIfShort(t)
	dir, err := os.MkdirTemp("", "c")
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, dir: dir, home: filepath.Join(dir, "home")}
	for _, name := range []string{"bin", "home", "config/harnesses"} {
		w.check(os.MkdirAll(filepath.Join(dir, name), 0o700))
	}
	self, err := os.Executable()
	w.check(err)
	for _, name := range []string{"coleo", "fakeagent", "printer"} {
		w.check(link(self, filepath.Join(dir, "bin", name)))
	}
	w.write("config/config.toml", config+"\n[serve]\naddr = \"127.0.0.1:0\"\n[agents]\npath = [\""+dir+"/bin\"]\n")
	for _, name := range []string{"fake.toml", "printer.toml"} {
		harness, err := os.ReadFile(filepath.Join("testdata", name))
		w.check(err)
		w.write("config/harnesses/"+name, string(harness))
	}
	w.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + w.home, "COLEO_DIR=" + dir, "COLEO_AGENTS=" + os.Getenv("COLEO_AGENTS"),
		"LANG=C.UTF-8", "GORACE=atexit_sleep_ms=0", "TMPDIR=" + os.Getenv("TMPDIR"), "COLEO_SECRET_FOR_NOBODY=leaked",
		"RANDOM_TOKEN=leaked",
	}
	return w
}

// link makes the file `to` a hard link to the file `from`. If that is impossible, it copies the
// file.
func link(from, to string) error {
	if os.Link(from, to) == nil {
		return nil
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o700)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// end ends all processes of the world, and checks that none is left.
func (w *world) end() {
	if w.t.Failed() {
		w.t.Logf("serve.log:\n%s\nagent.log:\n%s", w.read("state/logs/serve.log"), w.read("state/logs/agent.log"))
	}
	if r := w.run("down", "--arms"); r.code != 0 {
		w.t.Errorf("down --arms = %v", r)
	}
	// A holder whose program has ended by itself may need a moment to end.
	for deadline := time.Now().Add(5 * time.Second); len(w.processes()) > 0 && time.Now().Before(deadline); {
		time.Sleep(20 * time.Millisecond)
	}
	for _, p := range w.processes() {
		w.t.Errorf("left behind: process %d %q", p.pid, p.argv)
		killPID(p.pid)
	}
	for _, log := range []string{"serve", "agent"} {
		if text := w.read("state/logs/" + log + ".log"); strings.Contains(text, "DATA RACE") ||
			strings.Contains(text, "panic:") {
			w.t.Errorf("%s.log:\n%s", log, text)
		}
	}
	for _, f := range w.ending {
		f()
	}
	_ = os.RemoveAll(w.dir)
}

func (w *world) check(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) path(name string) string { return filepath.Join(w.dir, name) }

// read returns the content of a file of the world, or "" if there is no such file.
func (w *world) read(name string) string {
	raw, _ := os.ReadFile(w.path(name))
	return string(raw)
}

func (w *world) write(name, text string) {
	w.t.Helper()
	w.check(os.WriteFile(w.path(name), []byte(text), 0o600))
}

// result is the result of a command line.
type result struct {
	args     []string
	code     int
	out, err string
}

func (r result) String() string {
	return "coleo " + strings.Join(r.args, " ") + " = exit " +
		string(rune('0'+r.code/10)) + string(rune('0'+r.code%10)) + "\n" + r.out + r.err
}

// command returns a command line of this world.
func (w *world) command(args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	w.t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, w.path("bin/coleo"), args...)
	w.prepare(cmd)
	return cmd
}

func (w *world) prepare(cmd *exec.Cmd) {
	cmd.Env, cmd.Dir = w.env, w.dir
	if w.user != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: w.user}
	}
}

// run runs a command line.
func (w *world) run(args ...string) result {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, w.path("bin/coleo"), args...)
	w.prepare(cmd)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if cmd.ProcessState == nil || ctx.Err() != nil {
		w.t.Fatalf("coleo %v: %v, %v\n%s%s", args, err, ctx.Err(), out.String(), errs.String())
	}
	return result{args: args, code: cmd.ProcessState.ExitCode(), out: out.String(), err: errs.String()}
}

// must runs a command line that must succeed, and returns its output.
func (w *world) must(args ...string) string {
	w.t.Helper()
	r := w.run(args...)
	if r.code != 0 {
		w.t.Fatal(r)
	}
	return r.out
}

// fails runs a command line that must exit with the given code. It returns the error from the JSON
// output.
func (w *world) fails(code int, args ...string) coleo.Error {
	w.t.Helper()
	r := w.run(append([]string{"--json"}, args...)...)
	var body struct {
		Error coleo.Error `json:"error"`
	}
	if r.code != code || json.Unmarshal([]byte(r.err), &body) != nil || r.out != "" {
		w.t.Fatalf("%v\nwant exit %d, and an error as JSON on standard error alone", r, code)
	}
	return body.Error
}

// decode runs a command line with --json and decodes its output.
func decode[T any](w *world, args ...string) T {
	w.t.Helper()
	var v T
	out := w.must(append([]string{"--json"}, args...)...)
	if err := json.Unmarshal([]byte(out), &v); err != nil {
		w.t.Fatalf("coleo %v printed %s\n%v", args, out, err)
	}
	return v
}

func (w *world) arm(name string) coleo.Arm {
	w.t.Helper()
	return decode[coleo.Arm](w, "arm", "status", name)
}

// wait waits until an arm has one of the given states.
func (w *world) wait(name string, states ...coleo.State) coleo.Arm {
	w.t.Helper()
	words := make([]string, len(states))
	for i, s := range states {
		words[i] = string(s)
	}
	arm := decode[coleo.Arm](w, "arm", "wait", name, "--timeout", patience.String(), "--state",
		strings.Join(words, ","))
	if arm.Rule == coleo.RuleUnprovenIdle {
		w.t.Errorf("arm %s is idle, and nothing has shown that its turn has ended", name)
	}
	return arm
}

// until calls the function `ok` again and again until it returns true. If that takes longer than
// patience, the test fails with the text `what`.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s", patience, what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// events returns the events of a kind in an arm's log.
func (w *world) events(arm string, kind coleo.EventKind) []coleo.Event {
	w.t.Helper()
	client, err := w.client()
	w.check(err)
	var out []coleo.Event
	for f := (wire.EventFilter{Arm: arm, Limit: 1000}); ; {
		list, next, err := client.Events(w.t.Context(), f)
		w.check(err)
		if len(list) == 0 {
			return out
		}
		for _, e := range list {
			if e.Kind == kind {
				out = append(out, e)
			}
		}
		f.After = next
	}
}
