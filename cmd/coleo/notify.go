package main

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"time"

	"coleo.dev"
	"coleo.dev/brain"
)

const (
	// notifyTimeout bounds one run of the user's notification command.
	notifyTimeout = 30 * time.Second
	// notifyText bounds a text in its environment, in bytes. A whole environment
	// has room for about 2 MB, and nobody reads more in a notification.
	notifyText = 4 << 10
	// notifyAtOnce is how many of them run at the same time.
	notifyAtOnce = 4
)

// What COLEO_EVENT says.
const (
	notifyAsks     = "asks"
	notifyFinished = "finished"
	notifyFailed   = "failed"
	notifyDied     = "died"
)

// notice is what the user is told by one run of the command.
type notice struct {
	event  string
	arm    coleo.Arm
	dialog coleo.Dialog // of notifyAsks
	answer string       // of a turn that has ended
}

// notify runs the user's command once for each dialog that an arm comes to, for
// each turn that ends, and for each arm that dies.
func notify(ctx context.Context, b *brain.Brain, command string, log *slog.Logger) {
	told := map[string]coleo.Fingerprint{}
	running := make(chan struct{}, notifyAtOnce)
	for ctx.Err() == nil {
		for u := range b.Subscribe(ctx) {
			n, ok := noticeOf(ctx, b, u, told)
			if !ok {
				continue
			}
			go func() {
				running <- struct{}{}
				defer func() { <-running }()
				n.run(ctx, command, log)
			}()
		}
	}
}

// noticeOf returns what an update is worth telling. Each dialog is told once.
func noticeOf(ctx context.Context, b *brain.Brain, u coleo.Update, told map[string]coleo.Fingerprint) (notice, bool) {
	switch {
	case u.Arm != nil && u.Arm.Dialog != nil:
		d := *u.Arm.Dialog
		if told[u.Arm.ID] == d.Fingerprint {
			return notice{}, false
		}
		told[u.Arm.ID] = d.Fingerprint
		return notice{event: notifyAsks, arm: *u.Arm, dialog: d}, true
	case u.Removed != "":
		delete(told, u.Removed)
	case u.Event != nil && u.Event.Kind == coleo.EventRunEnd:
		end, err := coleo.DecodeRunEnd(*u.Event)
		arm, armErr := b.Arm(ctx, u.Event.Arm)
		if err == nil && armErr == nil {
			return notice{event: endWord(end), arm: arm, answer: end.Answer}, true
		}
	}
	return notice{}, false
}

// endWord says how a turn ended.
func endWord(end coleo.RunEnd) string {
	switch end.Status {
	case coleo.Failed:
		return notifyFailed
	case coleo.Dead:
		return notifyDied
	case coleo.Idle, coleo.Initializing, coleo.Processing, coleo.Executing, coleo.WaitingApproval:
	}
	return notifyFinished
}

func (n notice) run(ctx context.Context, command string, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(ctx, notifyTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", command)
	cmd.Env = append(os.Environ(), n.environ()...)
	if out, err := cmd.CombinedOutput(); err != nil {
		log.Warn("notify", "command", command, "event", n.event, "arm", n.arm.Name, "error", err, "output", string(out))
	}
}

// environ tells the command what has happened. Texts of an agent CLI are in
// variables alone: the command's own text is the user's.
func (n notice) environ() []string {
	text := func(s string) string {
		return strings.ToValidUTF8(strings.ReplaceAll(s[:min(len(s), notifyText)], "\x00", ""), "")
	}
	return []string{
		"COLEO_EVENT=" + n.event, "COLEO_ARM_NAME=" + n.arm.Name, "COLEO_HARNESS=" + n.arm.Harness, "COLEO_WORKDIR=" + n.arm.Workdir,
		"COLEO_DIALOG=" + text(n.dialog.Title), "COLEO_DIALOG_KIND=" + string(n.dialog.Kind), "COLEO_SUBJECT=" + text(n.dialog.Subject),
		"COLEO_ANSWER=" + text(n.answer),
	}
}
