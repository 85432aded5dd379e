package terminal

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"maps"
	"time"

	"coleo.dev"
)

const (
	// dialogSettle is how long a dialog must have said the same before it is
	// told what it says: some agent CLIs draw the subject after the box. That
	// there is one is told at once.
	dialogSettle = 150 * time.Millisecond
	// againSettle is the same for a dialog in the place of another one that had
	// itself come in the place of this, within againWithin: some agent CLIs draw the
	// first one once more behind a second thought, until their own server has heard
	// of the answer. On a loaded machine OpenCode 1.18.33 did so for 200 ms.
	againSettle = time.Second
	againWithin = 3 * time.Second
	// draftSettle is the same for one that does not say yet what it is about,
	// as its rule knows: OpenCode 1.18.33 draws the command 22 ms after the box, and
	// at a load of ten 200 ms after it.
	draftSettle = 3 * time.Second
	// partialSettle is the same for one that shows no title or no options: on a low
	// screen they may be out of sight, but most such pictures are half drawn.
	partialSettle = time.Second
)

// dialogCounter numbers the appearances of dialogs. Its epoch differs for
// every session object, because after a restart nobody can prove that a dialog
// is still the same appearance.
//
// A picture that no rule knows ends no appearance, since it may be half drawn,
// unless keys were typed at the dialog: then what comes behind it may be the
// next one, with the same words.
type dialogCounter struct {
	epoch string
	n     int
	open  string    // what the dialog on the screen says; "" without one
	title string    // of the last one
	since time.Time // of this appearance
	keyed bool      // keys were typed at it that may have answered it
	lost  bool      // and then it was not seen
	doubt bool      // it says what the one before it said, which was keyed and lost

	settle time.Duration        // how long it must say the same before it is told
	seen   map[string]time.Time // what dialogs have said, and when they were last seen
}

func newDialogCounter() dialogCounter {
	var b [2]byte
	_, _ = rand.Read(b[:]) // never fails
	return dialogCounter{epoch: hex.EncodeToString(b[:]), seen: map[string]time.Time{}}
}

// shows takes the dialog on a picture and returns its fingerprint.
func (c *dialogCounter) shows(v *verdict, now time.Time) coleo.Fingerprint {
	if text := saying(v.dialog); text != c.open || c.lost {
		c.comes(text, v, now)
	}
	c.seen[c.open] = now
	return coleo.Fingerprint(fmt.Sprintf("%s-%s-%d", c.open, c.epoch, c.n))
}

func (c *dialogCounter) comes(text string, v *verdict, now time.Time) {
	maps.DeleteFunc(c.seen, func(_ string, last time.Time) bool { return now.Sub(last) > againWithin })
	_, again := c.seen[text]
	c.doubt = c.lost && text == c.open
	switch {
	case v.draft:
		c.settle = draftSettle
	case c.doubt, again && c.open != "" && c.title != v.dialog.Title:
		c.settle = againSettle
	case v.partial:
		c.settle = partialSettle
	default:
		c.settle = dialogSettle
	}
	c.open, c.title, c.since = text, v.dialog.Title, now
	c.keyed, c.lost = false, false
	c.n++
}

// hidden takes a picture that no rule knows.
func (c *dialogCounter) hidden() { c.lost = c.lost || c.keyed }

// gone takes a picture that is known and has no dialog.
func (c *dialogCounter) gone() { c.open, c.keyed, c.lost, c.doubt = "", false, false, false }

// settling returns for how long the dialog must still say the same before it is
// told what it says.
func (c *dialogCounter) settling(now time.Time) time.Duration {
	return max(0, c.settle-now.Sub(c.since))
}
