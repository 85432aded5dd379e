package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/conformance/fakeagent"
	"coleo.dev/wire"
)

// allowed lists the variables that an agent CLI may receive from the user. The harness sets further
// variables itself.
var allowed = []string{"PATH", "HOME", "LANG", "TMPDIR", "TERM", "COLEO_ARM", "FAKE_API_KEY"}

func TestTheAgentCLIGetsTheVariablesThatItMayHaveAndNoOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.env = append(w.env, "FAKE_API_KEY=its-own", "ANTHROPIC_API_KEY=of-another", "COLEO_API_KEY=ours",
		"COLEO_API_URL=http://127.0.0.1:1")
	f := w.spawnFake("one")
	env := f.environ()
	for name, value := range env {
		if !slices.Contains(allowed, name) || value == "leaked" {
			t.Errorf("the agent CLI got %s=%s", name, value)
		}
	}
	if env["FAKE_API_KEY"] != "its-own" || env["HOME"] != w.home || !strings.HasPrefix(env["COLEO_ARM"], "arm-") {
		t.Errorf("the agent CLI got %v", env)
	}
}

// seedHome writes typical files of agent CLIs into HOME, and returns their hashes by path.
func (w *world) seedHome() map[string]string {
	w.t.Helper()
	for name, text := range map[string]string{
		".claude.json": `{"hasCompletedOnboarding":true,"mine":1}`, ".claude/settings.json": `{"theme":"dark"}`,
		".claude/projects/x/y.jsonl":     "{}\n",
		".config/opencode/opencode.json": `{"mine":2}`, ".aider.conf.yml": "dark-mode: true\n",
		".gitconfig": "[user]\n\tname = Me\n", ".codex/config.toml": "x = 1\n",
	} {
		path := filepath.Join(w.home, name)
		w.check(os.MkdirAll(filepath.Dir(path), 0o700))
		w.check(os.WriteFile(path, []byte(text), 0o600))
	}
	return w.hashes()
}

// hashes returns the hashes of the files in the home folder. It skips a file that vanishes
// meanwhile, because Claude Code makes and deletes files there when it tries to clone its plugins.
func (w *world) hashes() map[string]string {
	w.t.Helper()
	out := map[string]string{}
	w.check(filepath.WalkDir(w.home, func(path string, d fs.DirEntry, err error) error {
		var raw []byte
		if err == nil && !d.IsDir() {
			raw, err = os.ReadFile(path)
		}
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case d.IsDir():
			out[path] = "folder"
		default:
			sum := sha256.Sum256(raw)
			out[path] = hex.EncodeToString(sum[:])
		}
		return nil
	}))
	return out
}

func equalHashes(a, b map[string]string) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return string(x) == string(y)
}

// TestColeoWritesNothingIntoTheUsersHome replaces the real agent CLI by the fake one, which writes
// nothing to HOME. So every change in HOME would be Coleo's.
func TestColeoWritesNothingIntoTheUsersHome(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"claude-code", "opencode", "aider"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "")
			before := w.seedHome()
			dir := w.workdir("one", fakeagent.Script{})
			command := map[string]string{"claude-code": "claude"}[name]
			if command == "" {
				command = name
			}
			// PATH begins with bin/, so the fake hides any real agent CLI.
			w.check(os.WriteFile(w.path("bin/"+command), []byte("#!/bin/sh\nexec "+w.path("bin/fakeagent")+" "+dir+
				"\n"), 0o700))
			w.must("arm", "spawn", "-n", "one", "-w", dir, "--harness", name, "--endpoint",
				"http://127.0.0.1:1", "--no-wait")
			f := &fake{world: w, name: "one", workdir: dir}
			until(t, "the agent CLI runs", func() bool { return len(f.texts(fakeagent.InState)) > 0 })
			w.must("arm", "kill", "one")
			w.must("arm", "remove", "one")
			if after := w.hashes(); !equalHashes(before, after) {
				t.Errorf("HOME was\n%v\nand is\n%v", before, after)
			}
			for variable, value := range f.environ() {
				if value == "leaked" {
					t.Errorf("the agent CLI got %s", variable)
				}
			}
		})
	}
}

func TestARealAgentCLIInTheUsersOwnProfile(t *testing.T) {
	t.Parallel()
	needClaude(t)
	w := newWorld(t, "")
	w.env = append(w.env, "ANTHROPIC_AUTH_TOKEN=none")
	before := w.seedHome()
	model, dir := startModel(t), w.workdirOf("real")
	real := w.path("bin/claude") // a program that lists HOME before it runs the agent CLI
	script := "#!/bin/sh\ncp -a \"$HOME\" " + w.path("seen") + "\nexec \"" + claudePath() + "\" \"$@\"\n"
	w.check(os.WriteFile(real, []byte(script), 0o700))
	reply := decode[wire.SpawnReply](w, "arm", "spawn", "-n", "real", "-w", dir, "--harness",
		"claude-code", "--endpoint", model.URL(), "--model", "mock-1")
	if d := reply.Arm.Dialog; reply.Arm.State != coleo.WaitingApproval || d == nil || d.Kind != coleo.DialogTrust {
		t.Fatalf("the arm is %s with %+v, want the question for trust", reply.Arm.State, d)
	}
	home := w.home
	w.home = w.path("seen")
	seen := map[string]string{}
	for path, sum := range w.hashes() {
		seen[strings.Replace(path, w.home, home, 1)] = sum
	}
	w.home = home
	if !equalHashes(before, seen) {
		t.Errorf("HOME was\n%v\nand when the agent CLI started\n%v", before, seen)
	}
	w.must("arm", "approve", "real")
	w.wait("real", coleo.Idle)
	w.must("arm", "kill", "real")
}

func TestARealAgentCLIIsToldToTrustTheWorkFolder(t *testing.T) {
	t.Parallel()
	needClaude(t)
	w := newWorld(t, "")
	w.env = append(w.env, "ANTHROPIC_AUTH_TOKEN=none")
	before := w.seedHome()
	model, dir := startModel(t), w.workdirOf("it's \"real\" .d")
	r := w.run("--json", "arm", "spawn", "-n", "real", "-w", dir, "--harness", "claude-code", "--endpoint", model.URL(),
		"--model", "mock-1", "--trust-workdir")
	var reply wire.SpawnReply
	if json.Unmarshal([]byte(r.out), &reply) != nil || reply.Arm.State != coleo.Idle {
		t.Fatalf("%v\nwant it idle, without a question for trust", r)
	}
	if !strings.Contains(r.err, ".claude.json in your home folder will say that "+dir+" is trusted") {
		t.Errorf("it was not said beforehand which file is edited: %q", r.err)
	}
	var file struct {
		Mine     int
		Projects map[string]struct{ HasTrustDialogAccepted bool }
	}
	raw, err := os.ReadFile(filepath.Join(w.home, ".claude.json"))
	w.check(err)
	if err := json.Unmarshal(raw, &file); err != nil || file.Mine != 1 || !file.Projects[dir].HasTrustDialogAccepted {
		t.Errorf(".claude.json is %s (%v)", raw, err)
	}
	for path, sum := range w.hashes() {
		if strings.HasSuffix(path, ".codex/config.toml") && before[path] != sum {
			t.Errorf("%s was changed", path)
		}
	}
	w.must("arm", "kill", "real")
}
