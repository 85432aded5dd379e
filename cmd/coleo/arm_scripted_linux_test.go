package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/cmd/coleo/model"
	"coleo.dev/conformance"
	"coleo.dev/conformance/fakeagent"
	"coleo.dev/conformance/netns"
	"coleo.dev/wire"
)

// needAgent skips a test whose agent CLI is not installed, unless COLEO_REQUIRE names its
// harness.
func needAgent(t *testing.T, harness, command string) {
	t.Helper()
	if !netns.Isolated() {
		t.Fatal("real agent CLIs must not run where there is a network")
	}
	root := os.Getenv("COLEO_AGENTS")
	found, _ := filepath.Glob(filepath.Join(root, "*", "bin", command))
	if _, err := os.Stat(filepath.Join(root, "node_modules", ".bin", command)); err == nil || len(found) > 0 {
		return
	}
	if _, err := exec.LookPath(command); err == nil {
		return
	}
	if slices.Contains(strings.Split(os.Getenv("COLEO_REQUIRE"), ","), harness) {
		t.Fatalf("%s is required and not installed", harness)
	}
	t.Skipf("%s is not installed: make agents", harness)
}

// netOf returns the name of a process's network namespace.
func (w *world) netOf(pid int) string {
	w.t.Helper()
	name, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", pid))
	w.check(err)
	return name
}

// answered sends a prompt and checks its answer.
func (w *world) answered(arm, prompt, want string) {
	w.t.Helper()
	end := decode[coleo.RunEnd](w, "arm", "prompt", arm, "--wait", "--timeout", patience.String(), prompt)
	if strings.TrimSpace(end.Answer) != want || end.Status != coleo.Idle {
		w.t.Fatalf("the answer of %s to %q is %+v, want %q", arm, prompt, end, want)
	}
}

func TestAnArmWithTheScriptedModelOutlivesDownAndUp(t *testing.T) {
	t.Parallel()
	for harness, command := range map[string]string{"claude-code": "claude", "opencode": "opencode", "codex": "codex",
		"gemini": "gemini", "aider": "aider"} {
		t.Run(harness, func(t *testing.T) {
			needAgent(t, harness, command)
			w := newWorld(t, "")
			first := decode[wire.SpawnReply](w, "arm", "spawn", "-n", "one", "-w", w.workdirOf("one"),
				"--harness", harness, "--model", "scripted")
			if first.Arm.State != coleo.Idle || first.Arm.Model != coleo.ModelScripted {
				t.Fatalf("the arm is %+v, want it idle, with the scripted model", first.Arm)
			}
			modelPID := w.onlyProcess(model.ScriptedVerb)
			says := func() {
				nonce := conformance.Nonce()
				w.answered("one", "say "+nonce, nonce)
			}
			says()
			w.must("down")
			if now := w.onlyProcess(model.ScriptedVerb); now != modelPID {
				t.Fatalf("after down the model is process %d, want %d", now, modelPID)
			}
			if !runs(first.PID) {
				w.must("up")
				t.Fatalf("process %d has ended with down:\n%v\n%v", first.PID, w.run("arm", "status", "one"),
					w.run("arm", "logs", "one"))
			}
			w.must("up")
			if arm := w.wait("one", coleo.Idle); arm.PID != first.PID || arm.Generation != 1 {
				t.Fatalf("after up the arm is process %d of generation %d, want %d of 1", arm.PID, arm.Generation,
					first.PID)
			}
			says()
			w.kill9(first.PID)
			until(t, "the model has ended with its arm", func() bool { return !runs(modelPID) })
			w.wait("one", coleo.Dead)
			w.must("arm", "recover", "one")
			if w.onlyProcess(model.ScriptedVerb); harness == "gemini" {
				return // Gemini draws the old conversation again, and the test could mistake that for an answer
			}
			says()
		})
	}
}

func TestAnArmWithTheScriptedModelHasNoNetworkAndAHomeOfItsOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	f := &fake{world: w, name: "one", workdir: w.workdir("one", fakeagent.Script{})}
	w.scripted(f)
}

// This test runs Coleo as a user other than root. Such a user can only make a network namespace
// inside a user namespace.
func TestAnyUserGetsAnArmWithTheScriptedModel(t *testing.T) {
	t.Parallel()
	w := newStrangersWorld(t)
	f := &fake{world: w, name: "one", workdir: w.workdir("one", fakeagent.Script{})}
	w.giveAway(f.workdir)
	w.scripted(f)
}

func (w *world) scripted(f *fake) {
	w.t.Helper()
	reply := decode[wire.SpawnReply](w, "arm", "spawn", "-n", f.name, "-w", f.workdir, "--harness", "fake", "--model",
		"scripted", "-e", "GIVEN=x")
	modelPID, host := w.onlyProcess(model.ScriptedVerb), w.onlyProcess("agent")
	if here := w.netOf(reply.PID); here == w.netOf(host) || here != w.netOf(modelPID) {
		w.t.Errorf("network namespaces: of the agent CLI %s, of its model %s, of the host agent %s",
			here, w.netOf(modelPID), w.netOf(host))
	}
	out, err := exec.Command("nsenter", "-t", strconv.Itoa(reply.PID), "-n", "cat", "/proc/net/dev").Output()
	if lines := strings.Count(string(out), ":"); err != nil || lines != 1 || !strings.Contains(string(out), "lo:") {
		w.t.Errorf("the agent CLI sees the networks\n%s(%v), want loopback alone", out, err)
	}
	f.checkEnv("HOME", w.path("state/arms/"+reply.Arm.ID+"/home"))
	f.checkEnv("GIVEN", "x")
	if argv, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", reply.PID)); err != nil ||
		!strings.HasPrefix(string(argv), w.path("bin/fakeagent")) {
		w.t.Errorf("the arm's process is %q, %v; want the agent CLI itself", argv, err)
	}
	f.checkAnswer("here")
	w.must("arm", "kill", f.name)
	until(w.t, "the model has ended with its arm", func() bool { return !runs(modelPID) })
	w.must("arm", "remove", f.name)
	if _, err := os.Stat(w.path("state/arms/" + reply.Arm.ID)); !os.IsNotExist(err) {
		w.t.Errorf("after remove the arm's folder is there: %v", err)
	}
}

func TestAnArmFollowsItsScript(t *testing.T) {
	t.Parallel()
	needAgent(t, "claude-code", "claude")
	w := newWorld(t, "")
	first, second := conformance.Nonce(), conformance.Nonce()
	w.write("a.json", `{"rules":[{"when":{"matches":"^what is (\\w+)"},"reply":[{"text":"${1} is `+first+`"}]}]}`)
	w.write("b.json", `{"rules":[{"reply":[{"text":"`+second+`"}]}]}`)
	dir := w.workdirOf("one")
	w.must("arm", "spawn", "-n", "one", "-w", dir, "--harness", "claude-code", "--model", "scripted", "--script",
		w.path("a.json"))
	w.answered("one", "what is it?", "it is "+first)
	w.answered("one", "nothing of that", "ECHO: nothing of that")
	w.check(os.Remove(w.path("a.json"))) // the arm has a copy of the script
	w.must("arm", "kill", "one")
	w.must("arm", "recover", "one")
	w.answered("one", "what is that?", "that is "+first)
	w.must("arm", "kill", "one")
	w.fails(2, "arm", "spawn", "-n", "one", "-w", dir, "--script", w.path("b.json"), "-e", "ANTHROPIC_BASE_URL=x")
	w.must("arm", "recover", "one")
	w.answered("one", "what is these?", "these is "+first) // a refused start must change nothing
	w.must("arm", "kill", "one")
	w.must("arm", "spawn", "-n", "one", "-w", dir, "--script", w.path("b.json"))
	w.answered("one", "what is that?", second)
}

func TestWhatDoesNotGoWithTheScriptedModelIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.write("bad.json", "{\"rules\":[\n{\"reply\":[{\"txt\":\"a\"}]}]}")
	w.write("good.json", `{"rules":[]}`)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--harness", "fake", "--model", "scripted", "--script", w.path("bad.json")}, "bad.json: line 2: "},
		{[]string{"--harness", "fake", "--model", "scripted", "--script", w.path("none.json")}, "none.json"},
		{[]string{"--harness", "fake", "--script", w.path("good.json")}, "--model scripted"},
		{[]string{"--harness", "generic", "--model", "scripted"}, "uses no model"},
		{[]string{"--harness", "opencode-api", "--model", "scripted"}, "uses HTTP"},
		{[]string{"--harness", "fake", "--model", "scripted", "--profile", "user"}, "HOME of its own"},
	} {
		r := w.run(append([]string{"arm", "spawn", "-n", "one", "-w", w.dir}, c.args...)...)
		lines := strings.TrimPrefix(r.err, "coleo: started serve and a host agent\n")
		if r.code != 2 || strings.Count(lines, "\n") != 1 || !strings.Contains(lines, c.want) {
			t.Errorf("%v\nwant exit 2 and one line with %q", r, c.want)
		}
	}
	w.env = append(slices.DeleteFunc(w.env, func(kv string) bool { return strings.HasPrefix(kv, "PATH=") }),
		"PATH="+w.path("bin"))
	if r := w.run("arm", "spawn", "-n", "one", "-w", w.dir, "--harness", "fake", "--model", "scripted"); r.code != 2 ||
		!strings.Contains(r.err, "nothing was started") || !strings.Contains(r.err, "util-linux") ||
		strings.Count(r.err, "\n") != 1 {
		t.Errorf("%v\nwant exit 2 and one line that says what is missing", r)
	}
}

func TestTheDemonstrationTellsWhatItSees(t *testing.T) {
	t.Parallel()
	needAgent(t, "claude-code", "claude")
	needAgent(t, "opencode", "opencode")
	w := newWorld(t, "")
	told := w.must("up", "--demo")
	for _, name := range []string{"claude", "opencode"} {
		arm := w.arm(name)
		for _, want := range []string{
			name + " is waiting_approval, and asks: " + arm.Dialog.Title, `Its last answer: "hello-from-` +
				name + `"`, "coleo arm approve " + name,
		} {
			if !strings.Contains(told, want) {
				t.Errorf("the demonstration does not say %q:\n%s", want, told)
			}
		}
		if model, agent := w.netOf(arm.PID), w.netOf(w.onlyProcess("agent")); model == agent {
			t.Errorf("%s is in the host agent's network namespace", name)
		}
	}
	w.must("arm", "deny", "claude")
	w.wait("claude", coleo.Idle)
	w.must("arm", "kill", "opencode")
	told = w.must("up", "--demo")
	if !strings.Contains(told, "claude is idle\n") || strings.Contains(told, "coleo arm approve claude") ||
		!strings.Contains(told, "coleo arm approve opencode") {
		t.Errorf("after the first arm was answered the demonstration says\n%s", told)
	}
}
