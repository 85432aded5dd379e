package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/conformance"
	"coleo.dev/wire"
)

// spawnTooled starts an arm that has Coleo's tools. The fake agent CLI does not call them.
func (w *world) spawnTooled(name string) coleo.Arm {
	w.t.Helper()
	harness := strings.Replace(w.read("config/harnesses/fake.toml"), `name = "fake"`, `name = "tooled"`, 1)
	harness = strings.Replace(harness, "[keys]\n", "[[launch.part]]\nenv = { TOOLS = '{{json .MCPServers}}' }\n[keys]\n",
		1)
	w.write("config/harnesses/tooled.toml", strings.Replace(harness, "[capabilities]\n", "[capabilities]\nmcp = true\n",
		1))
	return decode[wire.SpawnReply](w, "arm", "spawn", "-n", name, "-w", w.workdirOf(name), "--harness", "tooled",
		"--tools", "all").Arm
}

// toolServer is the `coleo mcp serve` of an arm. The test acts as its agent CLI.
type toolServer struct {
	w     *world
	in    io.WriteCloser
	lines *bufio.Scanner
	last  int
}

func (w *world) toolServer(arm coleo.Arm) *toolServer {
	w.t.Helper()
	cmd := w.command("mcp", "serve", "--door", filepath.Join(w.dir, "state", "arms", arm.ID, "door.sock"))
	in, err := cmd.StdinPipe()
	w.check(err)
	out, err := cmd.StdoutPipe()
	w.check(err)
	w.check(cmd.Start())
	s := &toolServer{w: w, in: in, lines: bufio.NewScanner(out)}
	w.t.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	s.send("initialize", map[string]any{"protocolVersion": "2025-06-18", "capabilities": map[string]any{},
		"clientInfo": map[string]any{"name": "test", "version": "1"}})
	s.result()
	_, err = io.WriteString(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	w.check(err)
	return s
}

func (s *toolServer) send(method string, params any) {
	s.w.t.Helper()
	s.last++
	raw, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": s.last, "method": method, "params": params})
	s.w.check(err)
	_, err = fmt.Fprintf(s.in, "%s\n", raw)
	s.w.check(err)
}

func (s *toolServer) call(tool string, args map[string]any) {
	s.w.t.Helper()
	s.send("tools/call", map[string]any{"name": tool, "arguments": args})
}

// result returns the next result that the server sends.
func (s *toolServer) result() string {
	s.w.t.Helper()
	if !s.lines.Scan() {
		s.w.t.Fatalf("coleo mcp serve has ended: %v", s.lines.Err())
	}
	return s.lines.Text()
}

// asking waits until the arm has n open questions, and returns the arm.
func (w *world) asking(name string, n int) (arm coleo.Arm) {
	w.t.Helper()
	until(w.t, fmt.Sprintf("%s waits for %d answers", name, n), func() bool {
		arm = decode[coleo.Arm](w, "arm", "status", name)
		return len(arm.Suspensions) == n
	})
	return arm
}

func TestM15AQuestionOutlivesKillsOfServeAndTheHostAgent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	s := w.toolServer(w.spawnTooled("one"))
	s.call("ask_user", map[string]any{"question": "Which colour?", "options": []string{"red", "blue"}})
	before := w.asking("one", 1)
	if list := w.must("arm", "list"); !strings.Contains(list, "needs you: asks: Which colour?") {
		t.Errorf("the list does not show the question:\n%s", list)
	}
	if before.State != coleo.Idle {
		t.Errorf("the question has changed the state to %s", before.State)
	}
	if arm := decode[coleo.Arm](w, "arm", "wait", "one", "--state", "waiting_approval"); len(arm.Suspensions) != 1 {
		t.Errorf("arm wait = %+v", arm)
	}
	for _, verb := range []string{"serve", "agent"} {
		w.kill9(w.onlyProcess(verb))
	}
	w.must("up")
	if now := w.asking("one", 1); now.Suspensions[0].ID != before.Suspensions[0].ID {
		t.Errorf("after the kills it asks %+v, before %+v", now.Suspensions, before.Suspensions)
	}
	if e := w.fails(2, "arm", "answer", "one", "3"); e.Code != coleo.EInvalid {
		t.Errorf("a third option of two: %+v", e)
	}
	nonce := conformance.Nonce()
	w.must("arm", "answer", "one", "2", "--text", nonce)
	if r := s.result(); strings.Count(r, nonce) != 1 || !strings.Contains(r, "chooses: blue") {
		t.Errorf("the tool's result is %s", r)
	}
	w.asking("one", 0)
	if n := len(w.events("one", coleo.EventSuspension)); n != 1 {
		t.Errorf("the user was asked %d times", n)
	}
}

func TestM15OneOfSeveralQuestionsIsNamedByItsId(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	s := w.toolServer(w.spawnTooled("one"))
	s.call("submit_plan", map[string]any{"plan": "1. look\n2. work"})
	w.asking("one", 1)
	s.call("request_access", map[string]any{"what": "the internet", "why": "to look"})
	arm := w.asking("one", 2)
	if e := w.fails(5, "arm", "approve", "one"); e.Code != coleo.EConflict ||
		!strings.Contains(e.Message, arm.Suspensions[0].ID) || !strings.Contains(e.Message, arm.Suspensions[1].ID) {
		t.Errorf("approve without an id = %+v", e)
	}
	w.must("arm", "deny", "one", "--dialog", arm.Suspensions[1].ID, "--words", "not today")
	if r := s.result(); !strings.Contains(r, "The user denies it. They say: not today") {
		t.Errorf("request_access = %s", r)
	}
	w.must("arm", "approve", "one")
	if r := s.result(); !strings.Contains(r, "The user approves the plan.") {
		t.Errorf("submit_plan = %s", r)
	}
	if text := w.must("arm", "questions"); !strings.Contains(text, "Nothing waits") {
		t.Errorf("arm questions = %q", text)
	}
}

func TestM18TheTasksOfAModel(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	s := w.toolServer(w.spawnTooled("one"))
	s.call("task_write", map[string]any{"tasks": []any{map[string]any{"text": "look"}, map[string]any{"text": "work"}}})
	s.result()
	s.call("task_complete", map[string]any{"id": "t1"})
	s.result()
	if text := w.must("arm", "todos", "one"); text != "t1   completed    look\nt2   pending      work\n" {
		t.Errorf("arm todos = %q", text)
	}
	s.call("task_complete", map[string]any{"id": "t9"})
	if r := s.result(); !strings.Contains(r, `"isError":true`) || !strings.Contains(r, "no task") {
		t.Errorf("an unknown task = %s", r)
	}
}

func TestToolsAreRefusedWhereTheyCannotWork(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "[arms]\narm_tools = true\n")
	f := w.spawnFake("plain") // this harness has no MCP, so by default the arm has no tools
	if e := w.fails(2, "arm", "spawn", "-n", "two", "-w", f.workdir, "--harness", "fake", "--tools", "all"); e.Code !=
		coleo.EUnsupported {
		t.Errorf("tools without MCP: %+v", e)
	}
	if e := w.fails(2, "arm", "spawn", "-n", "two", "-w", f.workdir, "--harness", "fake", "--tools", "rm"); e.Code !=
		coleo.EInvalid {
		t.Errorf("an unknown tool: %+v", e)
	}
}
