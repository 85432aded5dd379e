package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/conformance/stranger"
	"coleo.dev/holder"
	"coleo.dev/holder/process"
	"coleo.dev/wire"
)

// The rogue is a program that an agent CLI has started. It tries in several ways to answer the
// agent CLI's own dialog in the user's place. It begins when the file rogueGo appears, and writes
// the results to the file rogueDone.
const (
	rogueGo   = ".rogue-go"
	rogueDone = ".rogue.json"
)

// These are the possible results when the rogue tries to control Coleo in one way.
const (
	refused  = "refused"
	possible = "possible without a sandbox"
)

// way is one way to control Coleo from inside an arm.
type way struct {
	name string
	try  func(r rogue) error // returns nil if the attempt succeeded
}

type rogue struct{ dir, arm string } // the path in COLEO_DIR, and the name of the rogue's own arm

func ways() []way {
	return []way{
		{"the command line", func(r rogue) error { return r.coleo("arm", "approve", r.arm) }},
		{"the command line, by setsid and without the mark", func(r rogue) error {
			return r.shell("env -u " + process.EnvArm + " setsid --wait " + r.path("bin/coleo") + " arm approve " +
				r.arm)
		}},
		{"a link to the dashboard", func(r rogue) error { return r.coleo("web") }},
		{"typing by hand", func(r rogue) error { return r.coleo("arm", "attach", r.arm) }},
		{"a second serve", func(r rogue) error { return r.coleo("serve") }},
		{"its own reading rules, by a pack", func(r rogue) error { return r.coleo("harness", "pack", "remove", "fake") }},
		{"trust in a project's policy", func(r rogue) error { return r.coleo("policy", "trust", r.dir, "--revoke") }},
		{"trust in a project's script", func(r rogue) error { return r.coleo("workspace", "trust", r.dir, "--yes", "x") }},
		{"a grant for its own policy", func(r rogue) error { return r.coleo("policy", "grant", r.arm, "rm *") }},
		{"the bus socket", rogue.bus},
		{"the holder's socket, without its nonce", func(r rogue) error { return r.hold("") }},
		{"the holder's socket, with its nonce", func(r rogue) error { return r.hold(r.nonce()) }},
		{"keys into its own terminal (TIOCSTI)", rogue.injects},
		{"tracing serve", func(r rogue) error { return r.traces("serve") }},
		{"tracing the host agent", func(r rogue) error { return r.traces("agent") }},
		{"writing the host agent's memory", rogue.memory},
		{"the API token over TCP", rogue.token},
		{"config.toml and harness files", rogue.settings},
	}
}

// playRogue waits until the file rogueGo appears. Then it tries each way to control Coleo.
func playRogue(args []string) int {
	r := rogue{dir: args[0], arm: args[1]}
	for !exists(rogueGo) {
		time.Sleep(10 * time.Millisecond)
	}
	out := map[string]string{}
	for _, w := range ways() {
		if err := w.try(r); err != nil {
			out[w.name] = refused + ": " + err.Error()
		} else {
			out[w.name] = possible
		}
	}
	raw, err := json.Marshal(out)
	if err == nil {
		err = os.WriteFile(rogueDone+".new", raw, 0o600)
	}
	if err == nil {
		err = os.Rename(rogueDone+".new", rogueDone)
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

func (r rogue) path(name string) string { return filepath.Join(r.dir, name) }

func (r rogue) coleo(args ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return r.runs(exec.CommandContext(ctx, r.path("bin/coleo"), args...))
}

func (r rogue) shell(script string) error { return r.runs(exec.Command("/bin/sh", "-c", script)) }

// runs executes a coleo command, which Coleo must refuse because it comes from inside an arm. It
// returns nil if Coleo does not refuse it.
func (r rogue) runs(cmd *exec.Cmd) error {
	cmd.Env = append(os.Environ(), "COLEO_DIR="+r.dir)
	out, err := cmd.CombinedOutput()
	if err != nil && !strings.Contains(string(out), "belongs to arm") {
		return errors.Join(err, errors.New("for another reason: "+string(out)))
	}
	return err
}

func (r rogue) bus() error {
	key, err := bus.KeyFile(r.path("state/bus.key"))
	if err != nil {
		return err
	}
	conn, err := bus.Dial(r.path("state/bus.sock"), key, "rogue")
	if err != nil {
		return err
	}
	conn.Close()
	return nil
}

// folder returns the folder of the arm's holder.
func (r rogue) folder() string {
	found, _ := filepath.Glob(r.path("state/arms/*/g1"))
	for _, dir := range found {
		return dir
	}
	return ""
}

// nonce reads the holder's nonce from the host agent's database, which the user's processes can
// read.
func (r rogue) nonce() string {
	nonce := regexp.MustCompile(`"nonce":"(\w+)"`)
	for _, name := range []string{"state/host.db-wal", "state/host.db"} {
		raw, _ := os.ReadFile(r.path(name))
		if found := nonce.FindSubmatch(raw); found != nil {
			return string(found[1])
		}
	}
	return "not found"
}

func (r rogue) hold(nonce string) error {
	client, err := holder.Dial(r.folder(), nonce)
	if err != nil {
		return err
	}
	defer client.Close()
	_, err = client.Write(holder.Write{ID: "rogue", Kind: holder.WriteKeys, Data: []byte("\r")})
	return err
}

// injects types Enter into the arm's terminal.
func (r rogue) injects() error {
	key := byte('\r')
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer tty.Close()
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, tty.Fd(), syscall.TIOCSTI,
		uintptr(unsafe.Pointer(&key))); errno != 0 {
		return errno
	}
	return nil
}

// pid returns the process that runs a verb.
func (r rogue) pid(verb string) int {
	var id coleo.Identity
	raw, _ := os.ReadFile(r.path("state/" + verb + ".pid"))
	_ = json.Unmarshal(raw, &id)
	return id.PID
}

func (r rogue) traces(verb string) error {
	pid := r.pid(verb)
	if err := syscall.PtraceAttach(pid); err != nil {
		return err
	}
	return syscall.PtraceDetach(pid)
}

func (r rogue) memory() error {
	f, err := os.OpenFile("/proc/"+strconv.Itoa(r.pid("agent"))+"/mem", os.O_RDWR, 0)
	if err == nil {
		f.Close()
	}
	return err
}

// token sends a harmless request with the user's API token: it lists the arms. Any answer counts as
// a success.
func (r rogue) token() error {
	token, err := os.ReadFile(r.path("state/token"))
	if err != nil {
		return err
	}
	addr, err := os.ReadFile(r.path("state/serve.sock.addr"))
	if err != nil {
		return err
	}
	q, err := http.NewRequest(http.MethodGet, "http://"+strings.TrimSpace(string(addr))+"/api/arms", nil)
	if err != nil {
		return err
	}
	q.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return errors.New(answer.Status)
	}
	return nil
}

// settings checks whether the rogue can write to the folder of harnesses. It writes rogue.txt
// there, because such a file has no effect. A TOML file would have an effect.
func (r rogue) settings() error {
	return os.WriteFile(r.path("config/harnesses/rogue.txt"), nil, 0o600)
}

// newStrangersWorld creates a world that belongs to a user other than root. Only such a world shows
// what a user's arm can do, because the kernel refuses nothing to root.
func newStrangersWorld(t *testing.T) *world {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can run Coleo as another user")
	}
	w := newWorld(t, "")
	self, err := os.ReadFile("/proc/self/exe")
	w.check(err)
	for _, name := range []string{"coleo", "fakeagent", "printer", "rogue"} {
		// copies the program instead of linking it: a hard link would belong to the owner of the test
		// binary
		w.check(os.WriteFile(w.path("bin/"+name+".copy"), self, 0o700))
		w.check(os.Rename(w.path("bin/"+name+".copy"), w.path("bin/"+name)))
	}
	w.giveAway(w.dir)
	w.user = &syscall.Credential{Uid: stranger.UID, Gid: stranger.UID}
	return w
}

// giveAway makes the other user the owner of a folder and everything in it.
func (w *world) giveAway(dir string) {
	w.t.Helper()
	w.check(filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, stranger.UID, stranger.UID)
	}))
}

// checkAttacks starts the rogue's attempts and checks the result of each way.
func (w *world) checkAttacks(workdir string) {
	w.t.Helper()
	w.check(os.WriteFile(filepath.Join(workdir, rogueGo), nil, 0o644))
	until(w.t, "the rogue has tried all", func() bool { return exists(filepath.Join(workdir, rogueDone)) })
	raw, err := os.ReadFile(filepath.Join(workdir, rogueDone))
	w.check(err)
	var got map[string]string
	w.check(json.Unmarshal(raw, &got))
	want := documented(w.t)
	for _, way := range ways() {
		w.t.Logf("%s: %s", way.name, strings.ReplaceAll(got[way.name], "\n", " "))
		if !strings.HasPrefix(got[way.name], want[way.name]) || want[way.name] == "" ||
			strings.Contains(got[way.name], "for another reason") {
			w.t.Errorf("%s: %s; docs/security.md says %q", way.name, got[way.name], want[way.name])
		}
	}
}

// documented returns the results that the table in docs/security.md states, by the name of the way.
func documented(t *testing.T) map[string]string {
	t.Helper()
	raw, err := os.ReadFile("../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for line := range strings.Lines(string(raw)) {
		cells := strings.Split(line, "|")
		if len(cells) > 3 {
			out[strings.TrimSpace(cells[1])] = strings.TrimSpace(cells[2])
		}
	}
	return out
}

// A real Claude Code asks for an approval. A program that its model started earlier tries to answer
// in the user's place.
func TestARealAgentCLICannotApproveItsOwnDialog(t *testing.T) {
	t.Parallel()
	needClaude(t)
	w := newStrangersWorld(t)
	l := &live{world: w, name: "real", model: startModel(t)}
	l.workdir = w.workdirOf(l.name)
	w.giveAway(l.workdir)
	decode[wire.SpawnReply](w, "arm", "spawn", "-n", l.name, "-w", l.workdir, "--harness", "claude-code",
		"--profile", "hermetic", "--home", l.home, "--endpoint", l.model.URL(), "--model", "mock-1")
	l.must("arm", "prompt", l.name, "run (setsid "+w.path("bin/rogue")+" "+w.dir+" "+l.name+" >/dev/null 2>&1 &)")
	l.wait(l.name, coleo.WaitingApproval)
	l.must("arm", "approve", l.name)
	l.wait(l.name, coleo.Idle)
	dialog := l.asks("wanted.txt")
	w.checkAttacks(l.workdir)
	now := l.arm(l.name)
	if now.Dialog == nil || now.Dialog.Fingerprint != dialog.Fingerprint || l.wrote("wanted.txt") {
		t.Errorf("after the attack the dialog is %+v, the file written: %v", now.Dialog, l.wrote("wanted.txt"))
	}
	l.must("arm", "deny", l.name)
	l.wait(l.name, coleo.Idle)
	if l.wrote("wanted.txt") {
		t.Error("the file of a denied edit was written")
	}
}

// The table in docs/security.md must contain each way that the rogue tries, with one of the two
// possible results.
func TestTheTableOfWaysIsWhole(t *testing.T) {
	t.Parallel()
	docs := documented(t)
	for _, w := range ways() {
		if got := docs[w.name]; !slices.Contains([]string{refused, possible}, got) {
			t.Errorf("docs/security.md says %q of %q, want %q or %q", got, w.name, refused, possible)
		}
	}
}
