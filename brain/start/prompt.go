package start

import (
	"crypto/rand"
	"strings"
	"time"

	"coleo.dev"
)

// FirstPrompt returns the queue's entry for the first prompt of a start. If the text is "", it
// returns nil. If the text is blank or too large for a queue, it returns EInvalid.
func FirstPrompt(text string, now time.Time) (*coleo.Queued, error) {
	switch {
	case text == "":
		return nil, nil
	case strings.TrimSpace(text) == "":
		return nil, coleo.Errorf(coleo.EInvalid, "the first prompt is blank: nothing was started")
	case len(text) > coleo.MaxQueuedBytes:
		return nil, coleo.Errorf(coleo.EInvalid, "the first prompt has %d bytes, more than %d: nothing was started",
			len(text), coleo.MaxQueuedBytes)
	}
	return &coleo.Queued{ID: rand.Text(), Text: text, Added: now.UTC()}, nil
}
