package main

import (
	"path/filepath"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/changes"
)

// TestEachHunkNamesTheCallThatWroteIt: a real agent CLI writes a file, and a person approves that
// tool call. In the diff, each hunk must name the call that wrote it. A restore of the checkpoint
// before the turn must remove the file.
func TestEachHunkNamesTheCallThatWroteIt(t *testing.T) {
	t.Parallel()
	needAgent(t, "claude-code", "claude")
	w := newWorld(t, "")
	dir := w.workdirOf("one") // workdirOf makes a git repository
	w.write("work-one/old", "1\n")
	w.commit(dir, "base")
	made := filepath.Join(dir, "made.txt")
	w.must("arm", "spawn", "-n", "one", "-w", dir, "--harness", "claude-code", "--model", "scripted",
		"--script", w.scriptFile(asked{tool: "Write", args: map[string]any{"file_path": made,
			"content": "a line of the model\n"}}))
	w.checkpoints("one", 1)
	w.must("arm", "prompt", "one", "go on")
	w.wait("one", coleo.WaitingApproval)
	w.must("arm", "approve", "one")
	w.wait("one", coleo.Idle)
	w.write("work-one/old", "by hand\n")
	var why map[string]*changes.Why
	until(t, "the call is in serve's log", func() bool {
		why = map[string]*changes.Why{}
		for _, f := range decode[changes.Diff](w, "arm", "diff", "one", "--why").Files {
			why[f.Path] = f.Hunks[0].Why
		}
		return why["made.txt"] != nil && why["made.txt"].Certainty == "wrote"
	})
	if y := why["made.txt"]; y.Tool != "Write" || y.Prompt != "go on" || y.Approval != string(coleo.ChoiceApprove) ||
		y.Time == nil ||
		y.Generation != 1 || y.Run == "" || !strings.Contains(y.Approver, "socket") {
		t.Errorf("the hunk of the model has %+v", y)
	}
	if y := why["old"]; y == nil || y.Certainty != "nothing" || y.Run != "" {
		t.Errorf("the hunk that was made by hand has %+v", y)
	}
	if out := w.must("arm", "diff", "one", "--why", "made.txt"); !strings.Contains(out, "# call Write, ") ||
		!strings.Contains(out, "# moment coleo arm screen one --at ") {
		t.Errorf("arm diff --why printed\n%s", out)
	}
	list := w.checkpoints("one", 2)
	if list[1].Run != why["made.txt"].Run {
		t.Errorf("the checkpoints are %+v", list)
	}
	w.must("arm", "checkpoint", "restore", "one", "0")
	if w.read("work-one/made.txt") != "" || w.read("work-one/old") != "1\n" {
		t.Error("the turn is not undone")
	}
}
