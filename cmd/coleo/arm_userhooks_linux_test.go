package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/wire"
)

// listeningUser is a user with hooks of their own. These hooks are programs that record the names
// by which they were called.
type listeningUser struct {
	*world
	program string
	model   string
	workdir string
}

func newListeningUser(t *testing.T) *listeningUser {
	t.Helper()
	u := &listeningUser{world: newWorld(t, "")}
	u.model = startModel(t).URL()
	u.workdir = u.workdirOf("own")
	u.program = u.path("home/told")
	u.write("home/told", "#!/bin/sh\necho \"$1\" >> '"+u.path("home/called")+"'\n")
	u.check(os.Chmod(u.program, 0o700))
	return u
}

// settings returns Claude Code settings with hooks that call a program by the given name.
func (u *listeningUser) settings(name string) string {
	hook := `[{"hooks":[{"type":"command","command":"` + u.program + ` ` + name + `"}]}]`
	return `{"skipDangerousModePermissionPrompt":true,"hooks":{"Stop":` + hook + `,"UserPromptSubmit":` + hook + `}}`
}

func (u *listeningUser) put(path, text string) {
	u.check(os.MkdirAll(filepath.Dir(path), 0o700))
	u.check(os.WriteFile(path, []byte(text), 0o600))
}

// calledPrograms returns the recorded names.
func (u *listeningUser) calledPrograms() []string { return strings.Fields(u.read("home/called")) }

// prompts starts an arm with the user's own arguments and sends it a prompt. Coleo must receive the
// answer through its own hook.
func (u *listeningUser) prompts(harness string, args ...string) {
	u.t.Helper()
	client, err := u.client()
	u.check(err)
	u.must("up")
	reply, err := client.Spawn(u.t.Context(), wire.SpawnRequest{
		Name: "own", Workdir: u.workdir, Harness: harness, Profile: coleo.ProfileHermetic, Home: u.home,
		Endpoint: u.model,
		Model:    "mock-1", Args: args,
	})
	u.check(err)
	if reply.Arm.State != coleo.Idle {
		u.wait("own", coleo.Idle)
	}
	end := decode[coleo.RunEnd](u.world, "arm", "prompt", "own", "--wait", "say heard")
	if end.Answer != "heard" || end.Source != "hook" {
		u.t.Errorf("the run ended with %+v, want the answer by the hook", end)
	}
}

func TestHooksOfTheUserRunBesideOursInClaudeCode(t *testing.T) {
	t.Parallel()
	needClaude(t)
	u := newListeningUser(t)
	u.put(u.path("home/.claude/settings.json"), u.settings("user"))
	u.put(filepath.Join(u.workdir, ".claude/settings.json"), u.settings("project"))
	u.put(filepath.Join(u.workdir, ".claude/settings.local.json"), u.settings("local"))
	u.put(filepath.Join(u.workdir, "more.json"), u.settings("file"))
	u.prompts("claude-code", "--settings", u.settings("argument"), "--settings=more.json")
	for _, name := range []string{"user", "project", "local", "file", "argument"} {
		until(t, "the hooks of "+name+" were called twice", func() bool {
			return len(slices.DeleteFunc(u.calledPrograms(), func(s string) bool { return s != name })) == 2
		})
	}
}

func TestSettingsThatCannotBeJoinedWithOursAreRefused(t *testing.T) {
	t.Parallel()
	needClaude(t)
	u := newListeningUser(t)
	client, err := u.client()
	u.check(err)
	u.must("up")
	_, err = client.Spawn(t.Context(), wire.SpawnRequest{
		Name: "own", Workdir: u.workdir, Harness: "claude-code", Profile: coleo.ProfileHermetic, Home: u.home,
		Endpoint: u.model, Args: []string{"--settings", "nowhere.json"},
	})
	if coleo.ErrorCode(err) != coleo.EInvalid || !strings.Contains(err.Error(), "--settings is given twice") ||
		strings.Contains(err.Error(), "\n") {
		t.Errorf("settings that are not there: %v, want one line that refuses them", err)
	}
}

func TestAProgramThatCodexTellsIsToldBesideOurs(t *testing.T) {
	t.Parallel()
	if !exists(filepath.Join(os.Getenv("COLEO_AGENTS"), "node_modules", ".bin", "codex")) {
		if slices.Contains(strings.Split(os.Getenv("COLEO_REQUIRE"), ","), "codex") {
			t.Fatal("codex is required and not installed")
		}
		t.Skip("codex is not installed: make agents")
	}
	u := newListeningUser(t)
	u.put(u.path("home/.codex/config.toml"), "notify = [\""+u.program+
		"\", \"mine\"]\n[analytics]\nenabled = false\n[features]\ndaemon_auto_start = false\n[projects.\""+
		u.workdir+"\"]\ntrust_level = \"trusted\"\n")
	u.prompts("codex")
	until(t, "the user's program was told", func() bool { return slices.Contains(u.calledPrograms(), "mine") })
}
