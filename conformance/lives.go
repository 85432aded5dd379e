package conformance

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"coleo.dev"
	"coleo.dev/conformance/patience"
	"coleo.dev/holder/process"
)

// resumeAfterKill kills the agent CLI and starts another one that resumes the
// conversation. It checks that the model sees the part of the conversation from before
// the kill.
func resumeAfterKill(ctx context.Context, t *Trial) error {
	if err := t.spawnIdle(ctx, nil); err != nil {
		return err
	}
	nonce := Nonce()
	if err := t.exchange(ctx, "say "+nonce, nonce); err != nil {
		return err
	}
	if err := t.killAndResume(ctx, t.conversation(ctx)); err != nil {
		return err
	}
	second := Nonce()
	if err := t.exchange(ctx, "say "+second, second); err != nil {
		return err
	}
	for _, q := range t.Model.Record() {
		// The number of the user's messages proves nothing, because some agent CLIs add a message of their own.
		if q.Prompt == "say "+second && q.Side == "" && !q.Said("say "+nonce) {
			return fmt.Errorf("after the resumption the model did not see the prompt from before the kill")
		}
	}
	t.details = "the model saw the conversation from before the kill"
	return nil
}

// killAndResume kills the agent CLI, and starts another one that resumes a conversation.
func (t *Trial) killAndResume(ctx context.Context, conversation string) error {
	if err := t.Session.Kill(ctx); err != nil {
		return err
	}
	if err := t.closeSession(); err != nil {
		return err
	}
	t.Session = nil
	err := t.spawnIdle(ctx, func(c *coleo.SpawnConfig) {
		c.Generation, c.Dir, c.Resume, c.Conversation = 2, c.Dir+"-2", true, conversation
	})
	if err != nil {
		return fmt.Errorf("resume conversation %q: %w", conversation, err)
	}
	return nil
}

// conversationTimeout is how long the check waits for the conversation's id after the first turn.
// The wait must end, because some agent CLIs have no such id.
const conversationTimeout = 5 * time.Second

// conversation returns the id of the session's conversation. If the id is unknown after
// conversationTimeout, conversation returns "".
func (t *Trial) conversation(ctx context.Context) string {
	ctx, cancel := patience.With(ctx, conversationTimeout)
	defer cancel()
	for range t.Session.Changes(ctx, 0) {
		if id := t.Session.Handle().Conversation; id != "" {
			return id
		}
	}
	return ""
}

func modelFlag(ctx context.Context, t *Trial) error {
	const other = "mock-2"
	if err := t.spawnIdle(ctx, func(c *coleo.SpawnConfig) { c.Model = other }); err != nil {
		return err
	}
	nonce := Nonce()
	if err := t.exchange(ctx, "say "+nonce, nonce); err != nil {
		return err
	}
	for _, q := range t.Model.Record() {
		if q.Prompt == "say "+nonce && q.Side == "" && q.Model != other {
			return fmt.Errorf("the model that was asked is %q, want %q", q.Model, other)
		}
	}
	t.details = "the model asked was " + other
	return nil
}

// noLeftovers kills the agent CLI while it runs a command of the model. It checks that
// no process of the arm is left.
func noLeftovers(ctx context.Context, t *Trial) error {
	freely := func(c *coleo.SpawnConfig) {
		if !t.Harness.Info().Capabilities.Approval {
			c.PermissionMode = coleo.PermissionAll
		}
	}
	if err := t.spawnIdle(ctx, freely); err != nil {
		return err
	}
	command, err := t.longCommand(ctx)
	if err != nil {
		return err
	}
	if err := t.Session.Kill(ctx); err != nil {
		return err
	}
	if left := process.Marked(t.Session.Handle().Arm); len(left) > 0 {
		return fmt.Errorf("after the kill processes %v of the arm are left", left)
	}
	if process.Same(command) {
		return fmt.Errorf("after the kill the command that it ran is left: process %d", command.PID)
	}
	t.details = "nothing of it is left"
	if command.PID == 0 {
		t.details += "; it was running no command"
	}
	return nil
}

// commandTimeout is how long the check waits until the model's command runs. This time
// includes the approval of the command.
const commandTimeout = 20 * time.Second

// noteEvery is the time between two attempts to read the file that a command writes.
const noteEvery = 50 * time.Millisecond

// longCommand makes the model run a command that takes five minutes, and returns the
// command's process. If the agent CLI does not run the command, longCommand returns the
// zero Identity.
func (t *Trial) longCommand(ctx context.Context) (coleo.Identity, error) {
	name := Nonce()
	script, note := filepath.Join(t.Workdir, name+".sh"), filepath.Join(t.Workdir, name+".pid")
	text := fmt.Sprintf("echo $$ > %s.new && mv %s.new %s\nexec sleep 300\n", note, note, note)
	if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
		return coleo.Identity{}, fmt.Errorf("write a command: %w", err)
	}
	receipt, err := t.Session.SendPrompt(ctx, coleo.Prompt{Text: "run sh " + name + ".sh"})
	if err != nil {
		return coleo.Identity{}, err
	}
	return t.processIn(ctx, note, receipt), nil
}

// processIn approves the dialogs of a turn until a command has written its process id to the file `pidFile`. It
// then returns the command's process. If the turn ends or commandTimeout passes before that, it returns the
// zero Identity.
func (t *Trial) processIn(ctx context.Context, pidFile string, r coleo.Receipt) coleo.Identity {
	ctx, cancel := patience.With(ctx, commandTimeout)
	approved := make(chan struct{})
	go func() {
		defer close(approved)
		_, _ = t.approveAll(ctx, r, nil)
	}()
	defer func() { <-approved }()
	defer cancel()
	tick := time.NewTicker(noteEvery)
	defer tick.Stop()
	for {
		if raw, err := os.ReadFile(pidFile); err == nil {
			return t.commandWithPID(strings.TrimSpace(string(raw)))
		}
		select {
		case <-tick.C:
		case <-approved:
			return coleo.Identity{}
		}
	}
}

// commandWithPID returns the process of a command that runs in the trial's work folder. The
// argument is the process id that the command itself sees. In a sandbox, the machine uses another
// id for the same process. If the process has already ended, commandWithPID returns the zero
// Identity.
func (t *Trial) commandWithPID(own string) coleo.Identity {
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, folder := range all {
		status, _ := os.ReadFile(filepath.Join(folder, "status"))
		// The line NSpid lists the ids of a process: first the machine's id, last the id in the
		// innermost sandbox.
		_, pids, _ := strings.Cut(string(status), "\nNSpid:")
		pids, _, _ = strings.Cut(pids, "\n")
		workdir, _ := os.Readlink(filepath.Join(folder, "cwd"))
		if list := strings.Fields(pids); len(list) == 0 || list[len(list)-1] != own || workdir != t.Workdir {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(folder))
		if id, err := process.Identify(pid); err == nil {
			return id
		}
	}
	if len(all) > 0 {
		return coleo.Identity{}
	}
	pid, _ := strconv.Atoi(own)
	id, _ := process.Identify(pid) // without /proc there are no sandboxes, so the machine uses the same id
	return id
}
