package main

import (
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/wire"
)

// TestM24ArmTailFollowsWhatAnArmSaysAndDoes: arm tail must print one line for each prompt and each
// end of a run. Its filter must also accept the names that other systems give these events.
func TestM24ArmTailFollowsWhatAnArmSaysAndDoes(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	follow := func(args ...string) *lines {
		t.Helper()
		cmd, out := f.command(append([]string{"arm", "tail", "--from", "0"}, args...)...), &lines{}
		cmd.Stdout = out
		f.check(cmd.Start())
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		return out
	}
	tail, alias, all := follow(f.name), follow("--filter", "agent_start,agent_end"), follow(f.name, "-a")
	f.checkAnswer("first")
	f.checkAnswer("second")
	for name, out := range map[string]*lines{"arm tail": tail, "arm tail --filter": alias, "arm tail -a": all} {
		until(t, name+" prints both runs", func() bool { return strings.Count(out.text(), " run_end ") == 2 })
		if text := out.text(); strings.Count(text, " run_start ") != 2 || !strings.Contains(text, "say first") ||
			!strings.Contains(text, "finished second") {
			t.Errorf("%s prints\n%s", name, text)
		}
	}
	if text := alias.text(); strings.Count(text, "\n") != 4 {
		t.Errorf("the names of other systems choose\n%s", text)
	}
	if !strings.Contains(all.text(), " arm.spawned ") || strings.Contains(tail.text(), " arm.spawned ") {
		t.Errorf("arm tail -a prints\n%s\nand arm tail\n%s", all.text(), tail.text())
	}
	client, err := f.client()
	f.check(err)
	list, _, err := client.Events(t.Context(), wire.EventFilter{Arm: f.name, Kinds: []coleo.EventKind{"agent_end"},
		Limit: 9})
	if err != nil || len(list) != 2 || list[0].Kind != coleo.EventRunEnd {
		t.Errorf("the API has %+v for agent_end, %v", list, err)
	}
	f.asks("make test") // a dialog is a question too: without its line, nobody sees why the arm does nothing
	until(t, "arm tail prints the dialog", func() bool { return strings.Contains(tail.text(), "Do you want to proceed?") })
	f.must("arm", "deny", f.name)
	until(t, "arm tail prints the answer", func() bool { return strings.Count(tail.text(), " run_end ") == 3 })
	if text := tail.text(); strings.Count(text, " state ") != 1 || !strings.Contains(text, "make test") {
		t.Errorf("arm tail prints\n%s", text)
	}
	f.fails(2, "arm", "tail", f.name, "--filter", "weather")
	f.fails(2, "arm", "tail", f.name, "--all", "--filter", "run_end")
	f.fails(4, "arm", "tail", "nobody")
}
