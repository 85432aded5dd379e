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
	// dialogSettle is how long a dialog must show the same text before that text is
	// told. Some agent CLIs draw the subject after the box. The presence of a dialog
	// is told at once.
	dialogSettle = 150 * time.Millisecond
	// returnSettle is the settling time of a dialog that comes back. Such a dialog
	// replaces one that had itself replaced it within returnWithin. Some agent CLIs draw
	// the first dialog once more after a second one, until their own server has heard of
	// the answer. OpenCode 1.18.33 did so for 200 ms on a loaded machine.
	returnSettle = time.Second
	returnWithin = 3 * time.Second
	// draftSettle is the settling time of a dialog whose rule knows that its subject is
	// not drawn yet. OpenCode 1.18.33 draws the command 22 ms after the box, and 200 ms
	// after it at a load of ten.
	draftSettle = 3 * time.Second
	// partialSettle is the settling time of a dialog that shows no title or no options.
	// On a low screen they may be out of sight, but most such pictures are half drawn.
	partialSettle = time.Second
)

// appearances numbers the appearances of dialogs. Its epoch differs for every session
// object: after a restart nothing proves that a dialog is still the same appearance.
//
// A picture that no rule knows may be half drawn, so it ends no appearance. The exception
// is a dialog at which keys were typed: what comes after it may be the next dialog, with
// the same words.
type appearances struct {
	epoch     string
	n         int
	text      string    // text of the dialog on the screen; "" without one
	title     string    // title of the last dialog
	since     time.Time // start of this appearance
	keysTyped bool      // keys that may have answered it were typed
	// hiddenSinceKeys says that the dialog was not seen at some time after such keys.
	hiddenSinceKeys bool
	doubtful        bool // it has the text of the one before it, which was hidden after keys

	settleTime time.Duration        // how long the text must stay the same before it is told
	lastShown  map[string]time.Time // texts of dialogs, and when each was last seen
}

func newAppearances() appearances {
	var b [2]byte
	_, _ = rand.Read(b[:]) // never fails
	return appearances{epoch: hex.EncodeToString(b[:]), lastShown: map[string]time.Time{}}
}

// showDialog records the dialog on a picture and returns its fingerprint.
func (a *appearances) showDialog(v *rules.Verdict, now time.Time) coleo.Fingerprint {
	if text := contentHash(v.Dialog); text != a.text || a.hiddenSinceKeys {
		a.begin(text, v, now)
	}
	a.lastShown[a.text] = now
	return coleo.Fingerprint(fmt.Sprintf("%s-%s-%d", a.text, a.epoch, a.n))
}

func (a *appearances) begin(text string, v *rules.Verdict, now time.Time) {
	maps.DeleteFunc(a.lastShown, func(_ string, last time.Time) bool { return now.Sub(last) > returnWithin })
	_, shownBefore := a.lastShown[text]
	a.doubtful = a.hiddenSinceKeys && text == a.text
	switch {
	case v.Draft:
		a.settleTime = draftSettle
	case a.doubtful, shownBefore && a.text != "" && a.title != v.Dialog.Title:
		a.settleTime = returnSettle
	case v.Partial:
		a.settleTime = partialSettle
	default:
		a.settleTime = dialogSettle
	}
	a.text, a.title, a.since = text, v.Dialog.Title, now
	a.keysTyped, a.hiddenSinceKeys = false, false
	a.n++
}

// unknownPicture records a picture that no rule knows.
func (a *appearances) unknownPicture() { a.hiddenSinceKeys = a.hiddenSinceKeys || a.keysTyped }

// end records a picture that is known and has no dialog.
func (a *appearances) end() {
	a.text, a.keysTyped, a.hiddenSinceKeys, a.doubtful = "", false, false, false
}

// settling returns how long the dialog's text must still stay the same before it is
// told.
func (a *appearances) settling(now time.Time) time.Duration {
	return max(0, a.settleTime-now.Sub(a.since))
}

// DialogSince returns when the present appearance of the dialog began.
func (r *Reader) DialogSince() time.Time { return r.dialogs.since }

// DialogSettling reports whether the text of the dialog on the screen may still change.
func (r *Reader) DialogSettling(now time.Time) bool { return r.dialogs.settling(now) > 0 }

// DialogDoubtful reports whether the dialog on the screen has the text of one that may
// have been answered, so that it may be that one, drawn once more.
func (r *Reader) DialogDoubtful() bool { return r.dialogs.doubtful }

// RenewDialog makes the dialog on the screen a new appearance. It is for a dialog that was
// answered and is still there, with the same text.
func (r *Reader) RenewDialog() { r.dialogs.end() }

// NoteKeys notes that keys are about to be typed. Keys that may answer the dialog on the
// screen matter: after them the next dialog may have the same words. first reports whether
// these are the first such keys. If they are refused, the caller must then call
// KeysRefused.
func (r *Reader) NoteKeys(keys []byte) (first bool) {
	before := r.dialogs.keysTyped
	r.dialogs.keysTyped = before || r.dialogs.text != "" && !onlyMoves(keys)
	return !before
}

// KeysRefused takes back what NoteKeys noted.
func (r *Reader) KeysRefused() { r.dialogs.keysTyped = false }

// onlyMoves reports whether a key only moves the mark of a list.
func onlyMoves(key []byte) bool {
	for _, name := range []string{"UP", "DOWN", "LEFT", "RIGHT"} {
		if k, _ := pty.Key(name); bytes.Equal(k, key) {
			return true
		}
	}
	return false
}

// contentHash returns a hash of a dialog's content. With the number of its appearance it is
// the dialog's fingerprint. The marked option is not part of it: moving the mark does not
// make another dialog.
func contentHash(d *coleo.Dialog) string {
	sum := sha256.Sum256([]byte(strings.Join(append([]string{string(d.Kind), d.Title, d.Subject}, d.Options...),
		"\x00")))
	return hex.EncodeToString(sum[:6])
}
