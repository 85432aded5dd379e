package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/api"
)

// demoArms are the arms of the demonstration: a name and the harness.
var demoArms = []struct{ name, harness string }{
	{"claude", "claude-code"},
	{"opencode", "opencode"},
}

// demoTimeout bounds each step of the demonstration: agent CLIs start slowly
// on a machine that has never run them.
const demoTimeout = 3 * time.Minute

// demonstrate starts what is missing, spawns an arm of each demoArms, has it
// answer a prompt, and leaves it at a permission dialog for the user.
func demonstrate(c *cobra.Command, s setup, ownLogin bool) error {
	step := func(format string, args ...any) { fmt.Fprintf(c.OutOrStdout(), "· "+format+"\n", args...) }
	if _, err := s.up(c.Context()); err != nil {
		return err
	}
	client, err := s.client()
	if err != nil {
		return err
	}
	var model scriptedModel
	if ownLogin {
		step("using your own logins, as you asked: prompts go to the real models")
	} else {
		if model, err = s.scriptedModel(c.Context()); err != nil {
			return err
		}
		step("no key needed: a scripted model answers, in a network namespace of its own (%s)", model.URL)
	}
	for _, d := range demoArms {
		if err := s.demoArm(c.Context(), client, d.name, d.harness, model, step); err != nil {
			return fmt.Errorf("demonstrate %s: %w", d.harness, err)
		}
	}
	link, note, err := s.dashboard(c.Context())
	if err != nil {
		return err
	}
	fmt.Fprintf(c.OutOrStdout(), `
Both arms wait for your approval. Next:
  dashboard                      %s
                                 %s
  coleo arm list                 what each of them is doing
  coleo arm approve claude       let it write the file
  coleo arm deny opencode        or not
  coleo arm attach claude        its own terminal (Ctrl-] lets go)
  coleo arm prompt claude hello  refused while it asks: nothing is typed into a dialog
`, link.URL, note)
	return nil
}

// scriptedModel starts the scripted model in the background, or finds it.
func (s setup) scriptedModel(ctx context.Context) (scriptedModel, error) {
	var m scriptedModel
	word := filepath.Join(s.Logs(), "modelserver.log")
	read := func(context.Context) bool {
		raw, err := os.ReadFile(word)
		return err == nil && json.Unmarshal(raw, &m) == nil && isOurs(m.PID, "modelserver")
	}
	if read(ctx) {
		return m, nil
	}
	if err := os.Remove(word); err != nil && !os.IsNotExist(err) {
		return m, fmt.Errorf("start the scripted model: %w", err)
	}
	pid, ended, err := s.background("modelserver", "modelserver", "--isolated", "--json",
		"--control", filepath.Join(s.State, "model.sock"), "--log", filepath.Join(s.State, "model.jsonl"))
	if err != nil {
		return m, err
	}
	if err := s.leaveWord("modelserver", pid); err != nil {
		return m, err
	}
	return m, s.await(ctx, "modelserver", ended, read)
}

func (s setup) demoArm(ctx context.Context, client *api.Client, name, harness string, model scriptedModel, step func(string, ...any)) error {
	ctx, cancel := context.WithTimeout(ctx, demoTimeout)
	defer cancel()
	if arm, err := client.Arm(ctx, name); err == nil && arm.Status != coleo.StatusStopped {
		step("%s: runs already (%s)", name, arm.State)
		return nil
	}
	q := coleo.SpawnRequest{Name: name, Harness: harness, Workdir: filepath.Join(s.State, "demo", name, "work")}
	if err := os.MkdirAll(q.Workdir, 0o700); err != nil {
		return err
	}
	// Agent CLIs like a repository; without git they work all the same.
	_ = exec.CommandContext(ctx, "git", "init", "-q", q.Workdir).Run()
	if model.URL != "" {
		q.Profile, q.Home = coleo.ProfileHermetic, filepath.Join(s.State, "demo", name, "home")
		q.Endpoint, q.Model, q.Wrap = model.URL, "scripted-1", model.Wrap
		if err := os.MkdirAll(q.Home, 0o700); err != nil {
			return err
		}
	}
	reply, err := client.Spawn(ctx, q)
	if err != nil {
		return err
	}
	step("%s: %s started as process %d in %s", name, harness, reply.PID, q.Workdir)
	if _, err := client.WaitArm(ctx, name, coleo.Idle); err != nil {
		return err
	}
	step("%s: idle", name)
	receipt, err := client.Prompt(ctx, name, coleo.Prompt{Text: "say hello-from-" + name}, "")
	if err != nil {
		return err
	}
	end, err := client.WaitRun(ctx, receipt.ID)
	if err != nil {
		return err
	}
	step("%s: asked to say hello, and answered %q", name, end.Answer)
	if _, err := client.Prompt(ctx, name, coleo.Prompt{Text: "write hello.txt with Hello from " + name}, ""); err != nil {
		return err
	}
	arm, err := client.WaitArm(ctx, name, coleo.WaitingApproval)
	if err != nil {
		return err
	}
	step("%s: wants to write a file, and asks: %s", name, arm.Dialog.Title)
	return nil
}
