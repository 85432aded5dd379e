package server

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"time"

	"coleo.dev"
	"coleo.dev/brain"
	"coleo.dev/store"
)

const (
	// notifyTimeout bounds one run of the user's notification command.
	notifyTimeout = 30 * time.Second
	// notifyText is the largest size of a text in the command's environment, in bytes.
	// The whole environment has room for about 2 MB. Nobody reads more than 4 KiB in a
	// notification.
	notifyText = 4 << 10
	// notifyAtOnce is how many notification commands can run at the same time.
	notifyAtOnce = 4
)

// notifyAsks is the value of COLEO_EVENT for a dialog. For the end of a turn, the value
// is the coleo.Outcome of the turn.
const notifyAsks = "asks"

// notice is what one run of the notification command reports to the user.
type notice struct {
	event  string
	arm    coleo.Arm
	dialog coleo.Dialog // only set if event is notifyAsks
	answer string       // only set for the end of a turn
}

// notifyRetry is the pause between two attempts to follow serve's log.
const notifyRetry = time.Second

// notifySetting is the name of the setting in serve's database that has a toldSoFar as
// JSON.
const notifySetting = "notify"

// toldSoFar is what the notifier has already reported. The notifier of the next serve
// continues from there.
type toldSoFar struct {
	// Cursor is the cursor of the last event with a notice. Before the first notice, it
	// is the cursor of the last event before Since.
	Cursor string `json:"cursor"`
	// Since is the time at which notices began. Events before Since have no notices,
	// because a new database first gets all past events.
	Since   time.Time                    `json:"since"`
	Dialogs map[string]coleo.Fingerprint `json:"dialogs"` // the last dialog with a notice, by the arm's id
}

// notifier runs the user's command once for each dialog that opens, and for each turn
// that ends. It follows serve's log, and stores how much of the log it has reported. So
// no notice is lost when serve ends, at whatever time. A notice is given twice if serve
// is killed after the start of the command and before the storing.
type notifier struct {
	brain   *brain.Brain
	db      *store.ServeDB
	command string
	log     *slog.Logger

	told    toldSoFar     // with the cursor of the last event that was handled
	running chan struct{} // one element for each command that runs
}

func newNotifier(b *brain.Brain, db *store.ServeDB, command string, log *slog.Logger) *notifier {
	return &notifier{brain: b, db: db, command: command, log: log, running: make(chan struct{}, notifyAtOnce)}
}

// follow reports events to the user until ctx ends.
func (n *notifier) follow(ctx context.Context) {
	n.load(ctx)
	for ctx.Err() == nil {
		news, err := n.brain.Subscribe(ctx, n.told.Cursor)
		if err != nil {
			n.log.Warn("notify: earlier events are not reported", "error", err)
			n.beginNow(ctx)
			continue
		}
		for u := range news {
			if u.Event != nil && !n.take(ctx, *u.Event, u.Cursor) {
				break
			}
		}
		select {
		case <-time.After(notifyRetry):
		case <-ctx.Done():
		}
	}
}

// load reads what the notifier of the last serve has stored.
func (n *notifier) load(ctx context.Context) {
	text, err := n.db.Config(ctx, notifySetting)
	if err == nil && text != "" {
		err = json.Unmarshal([]byte(text), &n.told)
	}
	if err != nil {
		n.log.Warn("notify: it is unknown what was reported before", "error", err)
	}
	if n.told.Dialogs == nil {
		n.told.Dialogs = map[string]coleo.Fingerprint{}
	}
	if n.told.Cursor == "" {
		n.beginNow(ctx)
	}
}

// beginNow sets the beginning of the notices to the present time.
func (n *notifier) beginNow(ctx context.Context) {
	n.told.Cursor, n.told.Since = n.brain.Cursor(), time.Now().UTC()
	n.save(ctx)
}

// save stores what has been reported. If save fails, the notifier of the next serve
// repeats the last notices.
func (n *notifier) save(ctx context.Context) {
	text, err := json.Marshal(n.told)
	if err == nil {
		err = n.db.SetConfig(ctx, notifySetting, string(text))
	}
	if err != nil && ctx.Err() == nil {
		n.log.Warn("notify: a later serve may report this again", "up_to", n.told.Cursor, "error", err)
	}
}

// forgetNotices deletes what an earlier notifier has stored. A serve without a
// notification command calls it, so that no later serve reports events of this time.
func forgetNotices(ctx context.Context, db *store.ServeDB, log *slog.Logger) {
	text, err := db.Config(ctx, notifySetting)
	if err == nil && text != "" {
		err = db.SetConfig(ctx, notifySetting, "")
	}
	if err != nil {
		log.Warn("notify: a later serve may report what happens now", "error", err)
	}
}

// take handles one event: if the event needs a notice, take starts the user's command.
// If ctx has ended, take does nothing and returns false. The notifier of the next serve
// then handles the event.
func (n *notifier) take(ctx context.Context, e coleo.Event, cursor string) bool {
	notice, ok := n.noticeOf(ctx, e)
	if ctx.Err() != nil || ok && !n.awaitTurn(ctx) {
		return false
	}
	n.told.Cursor = cursor
	if e.Kind == coleo.EventRemoved {
		delete(n.told.Dialogs, e.Arm)
	}
	if !ok {
		return true
	}
	if notice.event == notifyAsks {
		n.told.Dialogs[e.Arm] = notice.dialog.Fingerprint
	}
	wait := notice.start(ctx, n.command, n.log)
	n.save(context.WithoutCancel(ctx)) // even if ctx has ended, because the command runs
	go func() { defer func() { <-n.running }(); wait() }()
	return true
}

// awaitTurn waits until one more command can run, and returns true. If ctx has ended,
// it returns false.
func (n *notifier) awaitTurn(ctx context.Context) bool {
	select {
	case n.running <- struct{}{}:
	case <-ctx.Done():
		return false
	}
	if ctx.Err() != nil {
		<-n.running
		return false
	}
	return true
}

// noticeOf returns the notice of an event, and whether there is one. A dialog has only
// one notice, and only while it is open.
func (n *notifier) noticeOf(ctx context.Context, e coleo.Event) (notice, bool) {
	if e.Arm == "" || e.Kind == coleo.EventRemoved || e.Time.Before(n.told.Since) {
		return notice{}, false
	}
	arm, err := n.brain.Arm(ctx, e.Arm)
	if err != nil {
		arm = coleo.Arm{ID: e.Arm, Name: e.Arm} // the arm was removed after the event
	}
	if e.Kind == coleo.EventRunEnd {
		end, err := coleo.DecodeRunEnd(e)
		return notice{event: string(end.Outcome), arm: arm, answer: end.Answer}, err == nil
	}
	d := arm.Dialog
	if d == nil || n.told.Dialogs[arm.ID] == d.Fingerprint {
		return notice{}, false
	}
	return notice{event: notifyAsks, arm: arm, dialog: *d}, true
}

// start starts the user's command. The function wait waits until the command has ended.
// The command continues if serve ends.
func (n notice) start(ctx context.Context, command string, log *slog.Logger) (wait func()) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), notifyTimeout)
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", command)
	cmd.Env = append(os.Environ(), n.environ()...)
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Start()
	return func() {
		defer cancel()
		if err == nil {
			err = cmd.Wait()
		}
		if err != nil {
			log.Warn("notify", "command", command, "event", n.event, "arm", n.arm.Name, "error", err,
				"output", out.String())
		}
	}
}

// environ returns the variables of the environment that describe the notice. Texts of
// an agent CLI are only in variables, so the shell does not run them as commands.
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
