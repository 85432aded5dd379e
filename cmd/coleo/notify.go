package main

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"time"

	"coleo.dev"
	"coleo.dev/brain"
)

// notifyTimeout bounds one run of the user's notification command.
const notifyTimeout = 30 * time.Second

// notify runs the user's command once for each dialog that an arm comes to.
func notify(ctx context.Context, b *brain.Brain, command string, log *slog.Logger) {
	told := map[string]coleo.Fingerprint{}
	for ctx.Err() == nil {
		for u := range b.Subscribe(ctx) {
			if u.Arm == nil || u.Arm.Dialog == nil || told[u.Arm.ID] == u.Arm.Dialog.Fingerprint {
				continue
			}
			told[u.Arm.ID] = u.Arm.Dialog.Fingerprint
			go runNotify(ctx, *u.Arm, command, log)
		}
	}
}

func runNotify(ctx context.Context, arm coleo.Arm, command string, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(ctx, notifyTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", command)
	cmd.Env = append(os.Environ(), "COLEO_ARM_NAME="+arm.Name, "COLEO_DIALOG="+arm.Dialog.Title, "COLEO_DIALOG_KIND="+string(arm.Dialog.Kind))
	if out, err := cmd.CombinedOutput(); err != nil {
		log.Warn("notify", "command", command, "error", err, "output", string(out))
	}
}
