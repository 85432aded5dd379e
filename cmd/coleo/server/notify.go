package server

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
	// notifyText bounds a text in the command's environment, in bytes. The whole
	// environment has room for about 2 MB, and nobody reads more in a notification.
	notifyText = 4 << 10
	// notifyAtOnce is how many notification commands run at the same time.
	notifyAtOnce = 4
)

// notifyAsks is the COLEO_EVENT of a dialog. At the end of a turn, COLEO_EVENT is the
// turn's coleo.Outcome.
const notifyAsks = "asks"

// notice is what one run of the command tells the user.
type notice struct {
	event  string
	arm    coleo.Arm
	dialog coleo.Dialog // set for notifyAsks
	answer string       // of a turn that has ended
}

// notify runs the user's command once for each dialog that opens, and for each turn that
// ends or dies.
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

// noticeOf returns the notice of an update, if any. Each dialog has one notice.
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
			return notice{event: string(end.Outcome), arm: arm, answer: end.Answer}, true
		}
	}
	return notice{}, false
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

// environ returns the environment that describes the notice. Texts of an agent CLI are
// only in variables. They never become part of the shell command.
func (n notice) environ() []string {
	text := func(s string) string {
		return strings.ToValidUTF8(strings.ReplaceAll(s[:min(len(s), notifyText)], "\x00", ""), "")
	}
	return []string{
		"COLEO_EVENT=" + n.event, "COLEO_ARM_NAME=" + n.arm.Name, "COLEO_HARNESS=" + n.arm.Harness, "COLEO_WORKDIR=" +
			n.arm.Workdir,
		"COLEO_DIALOG=" + text(n.dialog.Title), "COLEO_DIALOG_KIND=" + string(n.dialog.Kind), "COLEO_SUBJECT=" +
			text(n.dialog.Subject),
		"COLEO_ANSWER=" + text(n.answer),
	}
}
