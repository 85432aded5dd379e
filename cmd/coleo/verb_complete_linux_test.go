package main

import (
	"os"
	"path/filepath"
	"testing"
)

// These verbs take names of schedules, webhooks, fan-outs or kept worktrees, or arms of one
// fan-out. A shell's completion must offer exactly these names.
func TestAShellIsOfferedFanOutsTriggersAndKeptWorktrees(t *testing.T) {
	t.Parallel()
	w, dir := triggerWorld(t, triggersOn)
	project := w.project() + "/sub"
	w.must("up")
	w.must("schedule", "add", "nightly", "--cron", "@daily", "--template", "boxed", "-w", dir, "--arg", "word=it")
	w.must("schedule", "add", "noon", "--cron", "@daily", "--template", "boxed", "-w", dir, "--arg", "word=it")
	w.must("webhook", "create", "hook", "--template", "boxed", "-w", dir, "--arg", "word=it")
	out := w.fanned(0, "-n", "2", "--harness", "fake", "-w", project, "--wait", "say one")
	one, two := out.Table[0].Arm, out.Table[1].Arm
	for _, verb := range []string{"remove", "show", "history", "run-now"} {
		w.offers("schedule "+verb+" n", "nightly", "noon")
	}
	w.offers("schedule remove nightly ")
	w.offers("webhook remove ", "hook")
	w.offers("fan-out keep ", out.ID)
	w.offers("fan-out show ", out.ID)
	w.offers("fan-out keep "+out.ID+" ", one, two)
	w.offers("fan-out keep " + out.ID + " " + one + " ")
	w.offers("fan-out keep none ")
	w.offers("workspace restore ")
	w.offers("workspace remove fan-", one, two)
	w.check(os.WriteFile(filepath.Join(w.arm(two).Workdir, "new"), []byte("new"), 0o600))
	w.must("fan-out", "keep", out.ID, one, "--force")
	w.offers("workspace restore ", two)
	w.offers("workspace restore " + two + " ")
}
