package typing

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/rules"
)

const (
	// ownMost is the largest number of typed texts that a Typist remembers. A Typist remembers several,
	// because an agent CLI can put several queued prompts back into its composer after an interrupt.
	ownMost = 8
	// clearedMost is the largest size in bytes of the text that a receipt reports as removed from the
	// composer. A composer seldom shows more.
	clearedMost = 4000
)

// ownTexts contains the texts that a Typist has typed. It also contains the text that the Typist has
// removed from the composer because somebody else had typed it. The typingLock guards the whole struct.
type ownTexts struct {
	typed   []string // newest first
	waiting bool     // the newest text was typed, and nothing has shown that the agent CLI took it
	torn    bool     // only the beginning of the newest text was typed
	probed  bool     // the composer may contain the probe, a dot that Coleo typed as a test
	// text of somebody else that was removed from the composer, until a receipt or an error reports it; see
	// coleo.Receipt.Cleared
	removed string
}

// noteTyping records that the Typist is about to type a text.
func (o *ownTexts) noteTyping(text string) {
	o.typed = append([]string{text}, o.typed[:min(len(o.typed), ownMost-1)]...)
	o.waiting, o.torn, o.probed = true, false, false
}

// noteFailed records that the typing of the newest text has failed. `torn` is true if the beginning of this
// text was typed.
func (o *ownTexts) noteFailed(torn bool) { o.waiting, o.torn = torn, torn }

// textOfOthers returns the part of the composer's text that somebody other than the Typist has typed.
func (o *ownTexts) textOfOthers(p *rules.Picture) string {
	if o.waiting && p.Folded() {
		return p.BeforeFold()
	}
	own, standing := o.typed, []string(nil)
	if o.waiting {
		standing = own[:1]
	}
	if o.probed { // the composer may contain the newest text and the probe, or the probe alone
		standing = []string{o.newest() + probe, probe}
		own = append(slices.Clip(standing), own...)
	}
	rest := p.OtherText(own, standing)
	if o.torn && rules.BeginsWith(o.newest(), rest) {
		return ""
	}
	return rest
}

// newest returns the last text that the Typist has typed, if the composer may contain it, and ""
// otherwise.
func (o *ownTexts) newest() string {
	if !o.waiting {
		return ""
	}
	return o.typed[0]
}

// noteRemoved stores a text of somebody else while Coleo removes it from the composer. The next receipt or
// error reports this text.
func (o *ownTexts) noteRemoved(text string) {
	if text == "" {
		return
	}
	if o.removed != "" {
		text = o.removed + "\n" + text
	}
	if len(text) > clearedMost {
		text = strings.ToValidUTF8(text[:clearedMost], "") + "…"
	}
	o.removed = text
}

// takeRemoved returns the removed text and forgets it.
func (o *ownTexts) takeRemoved() string {
	text := o.removed
	o.removed = ""
	return text
}

// addRemovedTo adds the removed text to the message of an error, and forgets the text. It does nothing if
// the error is not a coleo.Error.
func (o *ownTexts) addRemovedTo(err error) error {
	var e *coleo.Error
	if o.removed == "" || !errors.As(err, &e) {
		return err
	}
	longer := *e
	longer.Message = fmt.Sprintf("%s; removed from its composer before: %q", e.Message, o.takeRemoved())
	return &longer
}
