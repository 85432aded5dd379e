package terminal

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"strings"
	"time"

	"coleo.dev/harnesses/terminal/rules"

	"coleo.dev"
)

const (
	// dialogSettle is how long a dialog must show the same text before that text is
	// reported. Some agent CLIs draw the subject after the box. The presence of a dialog
	// is reported at once.
	dialogSettle = 150 * time.Millisecond
	// againSettle is the settling time of a dialog that comes back. Such a dialog
	// replaces one that had itself replaced it within againWithin. Some agent CLIs draw
	// the first dialog once more after a second one, until their own server has heard of
	// the answer. OpenCode 1.18.33 did so for 200 ms on a loaded machine.
	againSettle = time.Second
	againWithin = 3 * time.Second
	// draftSettle is the settling time of a dialog whose rule knows that its subject is
	// not drawn yet. OpenCode 1.18.33 draws the command 22 ms after the box, and 200 ms
	// after it at a load of ten.
	draftSettle = 3 * time.Second
	// partialSettle is the settling time of a dialog that shows no title or no options.
	// On a low screen they may be out of sight, but most such pictures are half drawn.
	partialSettle = time.Second
)

// dialogCounter numbers the appearances of dialogs. Its epoch differs for every session
// object: after a restart nothing proves that a dialog is still the same appearance.
//
// A picture that no rule knows may be half drawn, so it ends no appearance. The exception
// is a dialog at which keys were typed: what comes after it may be the next dialog, with
// the same words.
type dialogCounter struct {
	epoch string
	n     int
	open  string    // text of the dialog on the screen; "" without one
	title string    // title of the last dialog
	since time.Time // start of this appearance
	keyed bool      // keys that may have answered it were typed
	lost  bool      // and then the dialog was not seen
	doubt bool      // it has the text of the one before it, which was keyed and lost

	settle time.Duration        // how long the text must stay the same before it is reported
	seen   map[string]time.Time // texts of dialogs, and when each was last seen
}

func newDialogCounter() dialogCounter {
	var b [2]byte
	_, _ = rand.Read(b[:]) // never fails
	return dialogCounter{epoch: hex.EncodeToString(b[:]), seen: map[string]time.Time{}}
}

// shows records the dialog on a picture and returns its fingerprint.
func (c *dialogCounter) shows(v *rules.Verdict, now time.Time) coleo.Fingerprint {
	if text := contentHash(v.Dialog); text != c.open || c.lost {
		c.comes(text, v, now)
	}
	c.seen[c.open] = now
	return coleo.Fingerprint(fmt.Sprintf("%s-%s-%d", c.open, c.epoch, c.n))
}

func (c *dialogCounter) comes(text string, v *rules.Verdict, now time.Time) {
	maps.DeleteFunc(c.seen, func(_ string, last time.Time) bool { return now.Sub(last) > againWithin })
	_, again := c.seen[text]
	c.doubt = c.lost && text == c.open
	switch {
	case v.Draft:
		c.settle = draftSettle
	case c.doubt, again && c.open != "" && c.title != v.Dialog.Title:
		c.settle = againSettle
	case v.Partial:
		c.settle = partialSettle
	default:
		c.settle = dialogSettle
	}
	c.open, c.title, c.since = text, v.Dialog.Title, now
	c.keyed, c.lost = false, false
	c.n++
}

// hidden records a picture that no rule knows.
func (c *dialogCounter) hidden() { c.lost = c.lost || c.keyed }

// gone records a picture that is known and has no dialog.
func (c *dialogCounter) gone() { c.open, c.keyed, c.lost, c.doubt = "", false, false, false }

// settling returns how long the dialog's text must still stay the same before it is
// reported.
func (c *dialogCounter) settling(now time.Time) time.Duration {
	return max(0, c.settle-now.Sub(c.since))
}

// contentHash returns a hash of a dialog's content. With the number of its appearance it is
// the dialog's fingerprint. The marked option is not part of it: moving the mark does not
// make another dialog.
func contentHash(d *coleo.Dialog) string {
	sum := sha256.Sum256([]byte(strings.Join(append([]string{string(d.Kind), d.Title, d.Subject}, d.Options...), "\x00")))
	return hex.EncodeToString(sum[:6])
}
