package terminal

import (
	"strings"
	"time"

	"coleo.dev"
	"coleo.dev/pty"
)

// lapseAfter is how long the screen must contradict an in-band status before
// the status no longer counts: longer than any redraw, shorter than patience.
const lapseAfter = 3 * time.Second

// inband is the last word of the program itself on its state (OSC 7501). It is
// one witness: it can make a reading more cautious, never less, because
// anything that prints can forge it.
type inband struct {
	word   string // idle, working, done, blocked, error
	kind   string // permission, question or auth, with blocked
	at     time.Time
	lapsed bool
	doubt  time.Time // since when the screen contradicts it
}

func (w *inband) seen() bool { return w.word != "" }

func (w *inband) speaks() bool { return w.state() != "" }

// take notes what the program says.
func (w *inband) take(n pty.Notice, now time.Time) {
	if n.Kind != pty.NoticeStatus {
		return
	}
	next := inband{at: now}
	for field := range strings.SplitSeq(n.Text, ":") {
		key, value, _ := strings.Cut(field, "=")
		switch key {
		case "state":
			next.word = value
		case "kind":
			next.kind = value
		}
	}
	if next.word == "clear" || next.word == "" {
		next = inband{}
	}
	*w = next
}

// state is what the word adds to a screen's verdict; "" when it adds nothing.
func (w *inband) state() coleo.State {
	if w.lapsed {
		return ""
	}
	switch w.word {
	case "working":
		return coleo.Processing
	case "blocked":
		return coleo.WaitingApproval
	}
	return ""
}

func (w *inband) rule() string { return "osc7501 " + w.word }

func (w *inband) witness() coleo.Witness {
	return coleo.Witness{Name: "osc7501", State: w.state(), Rule: w.word, Time: w.at, Lapsed: w.lapsed}
}

// lapse takes the word's weight away: an interrupt or a denial ends what it
// spoke of, whether the program says so or not.
func (w *inband) lapse() {
	if w.word == "working" || w.word == "blocked" {
		w.lapsed = true
	}
}

// weigh lets a word lapse that the screen has contradicted for long: working
// on an idle screen, blocked without a dialog. It returns a note when that
// happens, and when to look again.
func (w *inband) weigh(screen coleo.State, now time.Time) (string, time.Duration) {
	contradicted := w.state() == coleo.Processing && (screen == coleo.Idle || screen == coleo.Failed) ||
		w.state() == coleo.WaitingApproval && screen != "" && screen != coleo.WaitingApproval
	if !contradicted {
		w.doubt = time.Time{}
		return "", idleLook
	}
	if w.doubt.IsZero() {
		w.doubt = now
	}
	if left := lapseAfter - now.Sub(w.doubt); left > 0 {
		return "", left
	}
	w.lapsed = true
	return "osc7501 said " + w.word + " while the screen read " + string(screen), idleLook
}
