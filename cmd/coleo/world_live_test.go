package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"coleo.dev"
	"coleo.dev/conformance"
	"coleo.dev/conformance/modelserver"
	"coleo.dev/conformance/netns"
	"coleo.dev/wire"
)

// live is an arm with a real agent CLI and a scripted model.
type live struct {
	*world
	model   *modelserver.Server
	network *fakeNetwork // relay between the agent CLI and the model
	name    string
	workdir string
	pid     int

	mu     sync.Mutex
	bodies []string // bodies of the requests to the model
}

// newLive starts an idle arm with Claude Code in the hermetic profile. It skips the test if Claude Code is
// not installed, unless COLEO_REQUIRE names it.
func newLive(t *testing.T) *live {
	t.Helper()
	needClaude(t)
	return newLiveOf(t, "claude-code")
}

// newLiveOf starts an idle arm of a harness in the hermetic profile, with further arguments of spawn.
func newLiveOf(t *testing.T, harness string, more ...string) *live {
	t.Helper()
	l := &live{world: newWorld(t, "[prices]\nmock-1 = { input = 3, output = 15 }\n"), name: "real"}
	l.model = startModel(t)
	proxy := proxyModel(t, l.model.URL(), func(body string) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.bodies = append(l.bodies, body)
	})
	l.network = newFakeNetwork(t, strings.TrimPrefix(proxy, "http://"))
	l.workdir = l.workdirOf(l.name)
	reply := decode[wire.SpawnReply](l.world, append([]string{"arm", "spawn", "-n", l.name, "-w", l.workdir,
		"--harness", harness, "--profile", "hermetic", "--home", l.path("agent-home"), "--endpoint", l.network.url(),
		"--model", "mock-1", "--trust-workdir"}, more...)...)
	if reply.Arm.State != coleo.Idle {
		t.Fatalf("spawned arm is %s, want idle", reply.Arm.State)
	}
	l.pid = reply.PID
	return l
}

func needClaude(t *testing.T) {
	t.Helper()
	if !netns.Isolated() {
		t.Fatal("real agent CLIs must not run where there is a network")
	}
	if claudePath() != "" {
		return
	}
	if slices.Contains(strings.Split(os.Getenv("COLEO_REQUIRE"), ","), "claude-code") {
		t.Fatal("claude-code is required and not installed")
	}
	t.Skip("claude-code is not installed: make agents")
}

// claudePath returns the path of Claude Code, or "" if it is not installed.
func claudePath() string {
	path := filepath.Join(os.Getenv("COLEO_AGENTS"), "node_modules", ".bin", "claude")
	if _, err := os.Stat(path); err == nil {
		return path
	}
	path, _ = exec.LookPath("claude")
	return path
}

// proxyModel starts a proxy in front of the model. It passes the body of each request to onRequest.
func proxyModel(t *testing.T, model string, onRequest func(body string)) string {
	t.Helper()
	to, err := url.Parse(model)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.FlushInterval = -1 // passes data on at once, because answers are streams
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		onRequest(string(body))
		r.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func startModel(t *testing.T) *modelserver.Server {
	t.Helper()
	model, err := modelserver.Start(modelserver.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = model.Close() })
	return model
}

// workdirOf makes a git repository as a work folder.
func (w *world) workdirOf(name string) string {
	w.t.Helper()
	dir := w.path("work-" + name)
	if out, err := exec.Command("git", "init", "-q", dir).CombinedOutput(); err != nil {
		w.t.Fatalf("git init: %v: %s", err, out)
	}
	return dir
}

// modelGot reports whether some request to the model contained all the words.
func (l *live) modelGot(words ...string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.bodies, func(body string) bool {
		return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(body, word) })
	})
}

// around looks for a word in all requests to the model. It returns the first occurrence with the
// text around it, or "". It ignores occurrences inside the text `except`.
func (l *live) around(word, except string) string {
	const context = 400 // bytes on each side
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, body := range l.bodies {
		body = strings.ReplaceAll(body, except, "")
		if at := strings.Index(body, word); at >= 0 {
			return body[max(0, at-context):min(len(body), at+len(word)+context)]
		}
	}
	return ""
}

// asked returns how many requests for a turn the model has received.
func (l *live) asked() int {
	n := 0
	for _, q := range l.model.Record() {
		if q.Prompt != "" && q.Side == "" {
			n++
		}
	}
	return n
}

// asks makes the agent CLI ask whether it may write a file.
func (l *live) asks(file string) coleo.Dialog {
	l.t.Helper()
	l.must("arm", "prompt", l.name, "write "+file+" with Hello, then say done")
	return *l.wait(l.name, coleo.WaitingApproval).Dialog
}

func (l *live) wrote(file string) bool {
	_, err := os.Stat(filepath.Join(l.workdir, file))
	return err == nil
}

// checkAnswer sends a prompt and checks its answer.
func (l *live) checkAnswer() {
	l.t.Helper()
	nonce := conformance.Nonce()
	end := decode[coleo.RunEnd](l.world, "arm", "prompt", l.name, "--wait", "say "+nonce)
	if end.Answer != nonce || end.Status != coleo.Idle {
		l.t.Fatalf("the answer to say %s is %+v", nonce, end)
	}
}

func TestARealAgentCLIAtADialogGetsNothingThatWasNotDecided(t *testing.T) {
	t.Parallel()
	l := newLive(t)
	dialog := l.asks("refused.txt")
	asked := l.asked()
	for _, text := range []string{"1", "yes", "y\n", "hello there"} {
		e := l.fails(6, "arm", "prompt", l.name, text)
		if e.Code != coleo.EBlocked || e.Dialog == nil || e.Dialog.Fingerprint != dialog.Fingerprint {
			t.Errorf("prompt %q: error = %+v, want %s with the dialog", text, e, coleo.EBlocked)
		}
	}
	if now := l.arm(l.name); now.Dialog == nil || now.Dialog.Fingerprint != dialog.Fingerprint {
		t.Errorf("the dialog is %+v now, want it unchanged", now.Dialog)
	}
	if l.wrote("refused.txt") || l.asked() != asked {
		t.Errorf("after refused prompts: file written %v, %d requests to the model, want %d",
			l.wrote("refused.txt"), l.asked(), asked)
	}
	l.must("arm", "deny", l.name)
	l.wait(l.name, coleo.Idle)
	if l.wrote("refused.txt") {
		t.Error("the file of a denied edit was written")
	}

	second := l.asks("wanted.txt")
	if e := l.fails(12, "arm", "approve", l.name, "--dialog", string(dialog.Fingerprint)); e.Code != coleo.EStale {
		t.Errorf("stale approval: %+v, want %s", e, coleo.EStale)
	}
	if now := l.arm(l.name); now.Dialog == nil || now.Dialog.Fingerprint != second.Fingerprint ||
		l.wrote("wanted.txt") {
		t.Errorf("after a stale approval the dialog is %+v, the file written: %v", now.Dialog, l.wrote("wanted.txt"))
	}
	l.must("arm", "approve", l.name)
	l.wait(l.name, coleo.Idle)
	if !l.wrote("wanted.txt") {
		t.Error("the file of an approved edit was not written")
	}
	l.asks("third.txt")
	l.must("arm", "answer", l.name, "3")
	l.wait(l.name, coleo.Idle)
	if l.wrote("third.txt") {
		t.Error("option 3 is No, and the file was written")
	}
	l.checkAnswer()
}
