package reading

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"strings"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/rules"
	"coleo.dev/pty"
)

const (
	// dialogSettle is how long a dialog must show the same text before Coleo reports the text. Until then,
	// Coleo reports only that a dialog is open. Some agent CLIs draw the box of a dialog first, and its
	// subject, such as a command, a moment later.
	dialogSettle = 150 * time.Millisecond
	// returnSettle replaces dialogSettle for a dialog that comes back. A dialog comes back if it is on the
	// screen again within returnWithin after an answer or after another dialog. Such a dialog often stays
	// only for a moment, because the agent CLI's own server has not received the answer yet. On a loaded
	// machine, OpenCode 1.18.33 showed such a dialog for 200 ms.
	returnSettle = time.Second
	returnWithin = 3 * time.Second
	// draftSettle replaces dialogSettle while the rule of a dialog finds that the dialog's subject is not
	// drawn yet. For example, OpenCode 1.18.33 draws the command 22 ms after the box of the dialog. On a
	// machine with a load of ten, it draws the command 200 ms after the box.
	draftSettle = 3 * time.Second
	// emptySettle replaces draftSettle for a dialog without a title and without options, about which nobody
	// could decide. For example, Qwen Code 0.24.4 shows "Waiting for user confirmation" for a moment before
	// each tool call. It does so even in the mode in which it asks nothing. At a load of 24 on two cores, this
	// text stayed for more than 3 s in 3 of 18 conversations.
	emptySettle = 15 * time.Second
	// partialSettle replaces dialogSettle for a dialog without a title or without options. Most
	// pictures of such dialogs are half drawn, but on a screen with few rows the rest may be out of
	// sight.
	partialSettle = time.Second
)

// appearances counts how often dialogs appear on the screen. One appearance lasts from the first picture of a
// dialog until the dialog has left the screen. Each fingerprint contains `epoch`, a random text of this
// session object. After a restart, nothing proves that a dialog is still the same, so it gets a new
// fingerprint.
//
// A picture that no rule recognizes may be half drawn, so it usually does not end an appearance. But if
// keys were typed that may have answered the dialog, such a picture ends the appearance. The next dialog is
// then a new appearance, even with the same text.
type appearances struct {
	epoch     string
	n         int
	text      string           // hash of the dialog at the beginning of this appearance; "" if there is no dialog
	latest    string           // hash of the dialog on the last picture
	title     string           // title of the last dialog
	kind      coleo.DialogKind // kind of the last dialog
	since     time.Time        // start of this appearance
	keysTyped bool             // keys that may have answered the dialog were typed
	// hiddenSinceKeys is true if keys were typed that may have answered the dialog, and no rule recognized at
	// least one later picture.
	hiddenSinceKeys bool
	doubtful        bool // a dialog with the same text was hidden after keys that may have answered it

	answered   string    // hash of the last dialog that disappeared after keys that may have answered it
	answeredAt time.Time // when that dialog disappeared

	list           optionList // the options of this appearance
	words          string     // the text of this appearance, as wordsOf returns it
	page           int        // the number of this question among several; 0 if unknown
	size           [2]int     // columns and rows of the last picture with a dialog
	before         *earlier   // the appearance before the last change of the terminal's size, or nil
	hiddenQuestion *earlier   // an unanswered question that is hidden or drawn in parts, or nil

	settleTime time.Duration        // how long the dialog's text must stay the same before it is reported
	lastShown  map[string]time.Time // when the text of each dialog was last seen
}

func newAppearances() appearances {
	var b [2]byte
	_, _ = rand.Read(b[:]) // never fails
	return appearances{epoch: hex.EncodeToString(b[:]), lastShown: map[string]time.Time{}}
}

// showDialog records the dialog on a picture and returns the dialog's fingerprint. If the picture
// shows only one page of a list of options, showDialog puts the whole list into the dialog.
func (a *appearances) showDialog(v *rules.Verdict, s *coleo.Screen, now time.Time) coleo.Fingerprint {
	a.noteSize(s, now)
	text := hashOf(v, v.Dialog.Options)
	otherPage := v.Dialog.Page > 0 && a.page > 0 && v.Dialog.Page != a.page
	same := !otherPage && !a.hiddenSinceKeys && (a.text != "" && text == a.latest || a.list.takePage(v))
	if !same && (otherPage || !a.resumeReflowed(v, now) && !a.resumeHidden(v, text, now)) {
		a.beginDialog(text, v, now)
	}
	a.latest = text
	if a.page == 0 {
		a.page = v.Dialog.Page
	}
	a.list.takePage(v)
	a.list.show(v)
	a.lastShown[a.text] = now
	return coleo.Fingerprint(fmt.Sprintf("%s-%s-%d", a.text, a.epoch, a.n))
}

func (a *appearances) beginDialog(text string, v *rules.Verdict, now time.Time) {
	maps.DeleteFunc(a.lastShown, func(_ string, last time.Time) bool { return now.Sub(last) > returnWithin })
	_, shownBefore := a.lastShown[text]
	a.notePart(v, now)
	a.doubtful = a.hiddenSinceKeys && (text == a.text || text == a.latest)
	answered := text == a.answered && now.Sub(a.answeredAt) < returnWithin
	a.answered = ""
	switch {
	case v.Draft && v.Dialog.Title == "" && len(v.Dialog.Options) == 0:
		a.settleTime = emptySettle
	case v.Draft:
		a.settleTime = draftSettle
	case a.doubtful, answered, shownBefore && a.text != "" && a.title != v.Dialog.Title:
		a.settleTime = returnSettle
	case v.Partial:
		a.settleTime = partialSettle
	default:
		a.settleTime = dialogSettle
	}
	a.text, a.title, a.kind, a.since = text, v.Dialog.Title, v.Dialog.Kind, now
	a.keysTyped, a.hiddenSinceKeys = false, false
	a.list, a.words, a.page = listOf(v), wordsOf(v), v.Dialog.Page
	a.n++
}

// unknownPicture records a picture that no rule recognizes.
func (a *appearances) unknownPicture() { a.hiddenSinceKeys = a.hiddenSinceKeys || a.keysTyped }

// endDialog records a picture that a rule recognizes and that shows no dialog. If a question was on the
// screen, its appearance can still continue later (see resumeHidden).
//
// The dialog may be missing only because the picture is half drawn. For example, Gemini CLI 0.61.0 on a
// loaded machine draws its status line some time before the dialog. Therefore, if an answered dialog soon
// comes back, the Reader does not report it at once, but waits for returnSettle.
func (a *appearances) endDialog(now time.Time) {
	if a.text != "" {
		a.hiddenQuestion = a.openQuestion(now)
		if a.keysTyped {
			a.answered, a.answeredAt = a.latest, now
		}
	}
	a.text, a.keysTyped, a.hiddenSinceKeys, a.doubtful = "", false, false, false
	a.list, a.before, a.page = optionList{}, nil, 0
}

// settleLeft returns how much longer the dialog must show the same text before the Reader reports it.
func (a *appearances) settleLeft(now time.Time) time.Duration {
	return max(0, a.settleTime-now.Sub(a.since))
}

// DialogSince returns the time at which the present appearance of the dialog began.
func (r *Reader) DialogSince() time.Time { return r.dialogs.since }

// DialogSettling reports whether the text of the dialog on the screen may still change. The Reader reports
// the dialog only after the text has stayed the same for long enough.
func (r *Reader) DialogSettling(now time.Time) bool { return r.dialogs.settleLeft(now) > 0 }

// DialogDoubtful reports whether the dialog on the screen may be an answered dialog that the agent CLI has
// drawn again. A dialog is doubtful if an earlier dialog with the same text may have been answered.
func (r *Reader) DialogDoubtful() bool { return r.dialogs.doubtful }

// RenewDialog makes the dialog on the screen count as a new dialog. Callers use it if the screen still shows
// a dialog with the same text after the answer.
func (r *Reader) RenewDialog() {
	r.dialogs.endDialog(time.Time{})
	r.dialogs.hiddenQuestion = nil
}

// NoteKeys is called before keys are typed, and records whether they may answer the dialog on the screen.
// If they may, the next dialog counts as a new one, even with the same text. NoteKeys returns true if no
// such keys were recorded before. If the holder then refuses the keys, the caller must call KeysRefused.
func (r *Reader) NoteKeys(keys []byte) (first bool) {
	before := r.dialogs.keysTyped
	r.dialogs.keysTyped = before || r.dialogs.text != "" && !onlyMoves(keys)
	if r.dialogs.keysTyped {
		r.dialogs.before, r.dialogs.hiddenQuestion = nil, nil
	}
	return !before
}

// KeysRefused undoes the recording by NoteKeys.
func (r *Reader) KeysRefused() { r.dialogs.keysTyped = false }

// onlyMoves reports whether a key is an arrow key. Such a key only moves the mark of a list, such as "❯", to
// another option.
func onlyMoves(key []byte) bool {
	for _, name := range []string{"UP", "DOWN", "LEFT", "RIGHT"} {
		if k, _ := pty.Key(name); bytes.Equal(k, key) {
			return true
		}
	}
	return false
}

// contentHash returns a hash of a dialog's content. A fingerprint consists of this hash, the epoch and the
// number of the appearance. The hash does not depend on the marked option, because the dialog stays the
// same when the user moves the mark to another option.
func contentHash(d *coleo.Dialog) string {
	sum := sha256.Sum256([]byte(strings.Join(append([]string{string(d.Kind), d.Title, d.Subject}, d.Options...),
		"\x00")))
	return hex.EncodeToString(sum[:6])
}
