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

// notifyRetry is the pause before serve's log is followed again after it could not be.
const notifyRetry = time.Second

// notifySetting is the setting in serve's database with the JSON of a toldSoFar.
const notifySetting = "notify"

// toldSoFar is where the next serve continues.
type toldSoFar struct {
	// Cursor is that of the last event with a notice, or of the last event before Since.
	Cursor string `json:"cursor"`
	// Since is when notices began. What happened before is not told: a new database first
	// fills with the whole past.
	Since   time.Time                    `json:"since"`
	Dialogs map[string]coleo.Fingerprint `json:"dialogs"` // the last one with a notice, by arm
}

// notifier runs the user's command once for each dialog that opens, and for each turn that
// ends or dies. It follows serve's log, and stores how far it has told the user. So nothing
// is lost when serve ends at any time. A serve that is killed between the start of a command
// and the storing of that tells one notice twice.
type notifier struct {
	brain   *brain.Brain
	db      *store.ServeDB
	command string
	log     *slog.Logger

	told    toldSoFar     // its cursor is that of the last event that was looked at
	running chan struct{} // a token for each command that runs
}

func newNotifier(b *brain.Brain, db *store.ServeDB, command string, log *slog.Logger) *notifier {
	return &notifier{brain: b, db: db, command: command, log: log, running: make(chan struct{}, notifyAtOnce)}
}

// follow tells the user until ctx ends.
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

// load reads where the last serve ended.
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

// beginNow makes now the time from which on the user is told.
func (n *notifier) beginNow(ctx context.Context) {
	n.told.Cursor, n.told.Since = n.brain.Cursor(), time.Now().UTC()
	n.save(ctx)
}

// save stores what was told. If it cannot, the next serve tells the last notices again.
func (n *notifier) save(ctx context.Context) {
	text, err := json.Marshal(n.told)
	if err == nil {
		err = n.db.SetConfig(ctx, notifySetting, string(text))
	}
	if err != nil && ctx.Err() == nil {
		n.log.Warn("notify: a later serve may report this again", "up_to", n.told.Cursor, "error", err)
	}
}

// forgetNotices is for a serve without the command: what happens now is never told, also not
// by a later serve.
func forgetNotices(ctx context.Context, db *store.ServeDB, log *slog.Logger) {
	text, err := db.Config(ctx, notifySetting)
	if err == nil && text != "" {
		err = db.SetConfig(ctx, notifySetting, "")
	}
	if err != nil {
		log.Warn("notify: a later serve may report what happens now", "error", err)
	}
}

// take tells the user of an event if it needs to be told. It returns false when ctx has
// ended. Then nothing was told or noted, and the next serve takes the event.
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
	n.save(context.WithoutCancel(ctx)) // the command runs
	go func() { defer func() { <-n.running }(); wait() }()
	return true
}

// awaitTurn waits until one more command may run, and returns false when ctx has ended. If
// both are the case, the end counts.
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

// noticeOf returns the notice of an event, if any. Each dialog has one notice, while it is
// open.
func (n *notifier) noticeOf(ctx context.Context, e coleo.Event) (notice, bool) {
	if e.Arm == "" || e.Kind == coleo.EventRemoved || e.Time.Before(n.told.Since) {
		return notice{}, false
	}
	arm, err := n.brain.Arm(ctx, e.Arm)
	if err != nil {
		arm = coleo.Arm{ID: e.Arm, Name: e.Arm} // it has been removed since
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

// start starts the user's command. The returned function waits for its end. The command
// goes on when serve ends.
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
