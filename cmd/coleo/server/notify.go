package server

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"time"

	"coleo.dev"
	"coleo.dev/brain"
	"coleo.dev/processgroup"
	"coleo.dev/store"
)

// This file runs the user's command for each dialog that opens and each run that ends.

const (
	// notifyTimeout is the time limit for one run of the user's notification command, and for its
	// children.
	notifyTimeout = 30 * time.Second
	// notifyPipeWait is how long serve waits for the end of the command's output after the command itself has
	// ended. Without this limit, serve could wait for ever, because a process that has left the command's group
	// can keep the output open.
	notifyPipeWait = 5 * time.Second
	// notifyOutput is how much of the command's output is kept, in bytes.
	notifyOutput = 4 << 10
	// notifyText is the largest size of a text in the command's environment, in bytes. Nobody reads
	// more in a notification, although an environment has room for about 2 MB.
	notifyText = 4 << 10
	// notifyAtOnce is the largest number of notification commands that run at the same time.
	notifyAtOnce = 4
)

// notifyAsks is the value of COLEO_EVENT for a dialog. For the end of a turn, COLEO_EVENT is the
// turn's coleo.Outcome.
const notifyAsks = "asks"

// notice is what one run of the user's command reports.
type notice struct {
	event  string
	arm    coleo.Arm
	dialog coleo.Dialog // set only for notifyAsks
	answer string       // the answer of the turn; set only for the end of a turn
}

// notifyRetry is the pause before the next attempt to follow serve's log.
const notifyRetry = time.Second

// notifySetting is the name of a setting in serve's database. The setting contains a toldSoFar as
// JSON.
const notifySetting = "notify"

// toldSoFar records which events have been reported to the user. The next serve continues after
// these events.
type toldSoFar struct {
	// Cursor is the cursor of the last event that was reported to the user. If none was reported, it is the cursor
	// of the last event that serve's log had when the notices began. Coleo uses no clock for this, because a clock
	// can be set back, and another machine can have another time.
	Cursor  string                       `json:"cursor"`
	Dialogs map[string]coleo.Fingerprint `json:"dialogs"` // the last reported dialog of each arm; the key is the arm's id
}

// notifier runs the user's command for each dialog that opens, and for each run that ends. It
// follows serve's log, and stores which event it has reported last, so that no event is lost when
// serve ends. If serve is killed between the start of a command and the storing, the user receives
// that notice twice.
type notifier struct {
	brain   *brain.Brain
	db      *store.ServeDB
	command string
	log     *slog.Logger
	timeout time.Duration // the time limit of a command: notifyTimeout, or less in tests

	told    toldSoFar     // told.Cursor is the cursor of the last handled event
	running chan struct{} // contains one element for each running command
}

func newNotifier(b *brain.Brain, db *store.ServeDB, command string, log *slog.Logger) *notifier {
	return &notifier{brain: b, db: db, command: command, log: log, timeout: notifyTimeout,
		running: make(chan struct{}, notifyAtOnce)}
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
			if u.Event != nil && !n.handle(ctx, *u.Event, u.Cursor) {
				break
			}
		}
		select {
		case <-time.After(notifyRetry):
		case <-ctx.Done():
		}
	}
}

// load reads the toldSoFar that the previous serve has stored.
func (n *notifier) load(ctx context.Context) {
	text, err := n.db.Setting(ctx, notifySetting)
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

// beginNow makes notices begin after the present end of serve's log.
func (n *notifier) beginNow(ctx context.Context) {
	n.told.Cursor = n.brain.Cursor()
	n.save(ctx)
}

// save stores which events have been reported to the user. If save fails, the next serve may report
// an event twice.
func (n *notifier) save(ctx context.Context) {
	text, err := json.Marshal(n.told)
	if err == nil {
		err = n.db.SetSetting(ctx, notifySetting, string(text))
	}
	if err != nil && ctx.Err() == nil {
		n.log.Warn("notify: a later serve may report this again", "up_to", n.told.Cursor, "error", err)
	}
}

// forgetNotices deletes the stored toldSoFar. A serve without a notification command calls it. Otherwise a
// later serve with a command would report events from the time of this serve.
func forgetNotices(ctx context.Context, db *store.ServeDB, log *slog.Logger) {
	text, err := db.Setting(ctx, notifySetting)
	if err == nil && text != "" {
		err = db.SetSetting(ctx, notifySetting, "")
	}
	if err != nil {
		log.Warn("notify: a later serve may report what happens now", "error", err)
	}
}

// handle handles one event. If the event must be reported, handle starts the user's command. If ctx
// has ended, handle does nothing and returns false, so that the next serve handles the event.
func (n *notifier) handle(ctx context.Context, e coleo.Event, cursor string) bool {
	notice, ok := n.noticeOf(ctx, e, cursor)
	if ctx.Err() != nil || ok && !n.awaitSlot(ctx) {
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
	wait := n.start(ctx, notice)
	n.save(context.WithoutCancel(ctx)) // the command has started, so this must be stored even if ctx has ended
	go func() { defer func() { <-n.running }(); wait() }()
	return true
}

// awaitSlot waits until another command may run, and returns true. If ctx ends first, it returns
// false.
func (n *notifier) awaitSlot(ctx context.Context) bool {
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

// noticeOf returns the notice that an event causes, or false if the event causes none. An event from a host's
// backlog causes none, because a new serve.db receives the whole past of its hosts. A dialog causes a notice
// only if the dialog is still open and has not been reported.
func (n *notifier) noticeOf(ctx context.Context, e coleo.Event, cursor string) (notice, bool) {
	if e.Arm == "" || e.Kind == coleo.EventRemoved {
		return notice{}, false
	}
	switch past, err := n.brain.InBacklog(ctx, e, cursor); {
	case past:
		return notice{}, false
	case err != nil && ctx.Err() == nil:
		n.log.Warn("notify: an event is reported, even if it is old", "arm", e.Arm, "kind", e.Kind, "error", err)
	}
	arm, err := n.brain.Arm(ctx, e.Arm)
	if err != nil {
		arm = coleo.Arm{ID: e.Arm, Name: e.Arm} // the event's arm has been removed since then
	}
	if e.Kind == coleo.EventRunEnd {
		end, err := coleo.DecodeRunEnd(e)
		return notice{event: string(end.Outcome), arm: arm, answer: end.Answer}, err == nil
	}
	if e.Kind == coleo.EventSuspension {
		return n.noticeOfQuestion(arm, e)
	}
	d := arm.Dialog
	if d == nil || n.told.Dialogs[arm.ID] == d.Fingerprint {
		return notice{}, false
	}
	return notice{event: notifyAsks, arm: arm, dialog: *d}, true
}

// noticeOfQuestion returns the notice of a question that an arm's model has asked with one of
// Coleo's tools. It returns false if the question has already been answered.
func (n *notifier) noticeOfQuestion(arm coleo.Arm, e coleo.Event) (notice, bool) {
	var asked coleo.Suspension
	if json.Unmarshal(e.Payload, &asked) != nil {
		return notice{}, false
	}
	for _, s := range arm.Suspensions {
		if s.ID == asked.ID {
			// handle stores the fingerprint of each notice as that of the last reported dialog. A question is no dialog
			// on the screen, so its notice repeats the fingerprint that is already stored.
			d := coleo.Dialog{Kind: coleo.DialogQuestion, Title: s.Line(), Subject: s.Text,
				Fingerprint: n.told.Dialogs[arm.ID]}
			return notice{event: notifyAsks, arm: arm, dialog: d}, true
		}
	}
	return notice{}, false
}

// start starts the user's command for a notice. It returns a function that waits for the command's
// end. At the time limit, that function ends the command and its children.
//
// If serve ends, the command continues, without a time limit. It has a process group of its own, so
// that CTRL-C in serve's terminal ends serve alone.
func (n *notifier) start(ctx context.Context, about notice) (wait func()) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), n.timeout)
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", n.command)
	cmd.Env = append(os.Environ(), about.environ()...)
	running, err := processgroup.Start(ctx, cmd, notifyPipeWait, notifyOutput)
	return func() {
		defer cancel()
		output := ""
		if err == nil {
			err, output = running.Wait(), running.Output()
		}
		if err != nil {
			n.log.Warn("notify", "command", n.command, "event", about.event, "arm", about.arm.Name, "error", err,
				"output", output)
		}
	}
}

// environ returns environment variables that describe the notice. Texts of an agent CLI appear only
// in these variables, so that they never become a part of the shell command.
func (n notice) environ() []string {
	text := func(s string) string {
		return strings.ToValidUTF8(strings.ReplaceAll(s[:min(len(s), notifyText)], "\x00", ""), "")
	}
	return []string{
		"COLEO_EVENT=" + n.event,
		"COLEO_ARM_NAME=" + n.arm.Name, "COLEO_HARNESS=" + n.arm.Harness, "COLEO_WORKDIR=" + n.arm.Workdir,
		"COLEO_DIALOG=" + text(n.dialog.Title), "COLEO_DIALOG_KIND=" + string(n.dialog.Kind),
		"COLEO_SUBJECT=" + text(n.dialog.Subject), "COLEO_ANSWER=" + text(n.answer),
	}
}
