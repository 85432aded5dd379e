package armrecord

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"coleo.dev"
	"coleo.dev/host/queue"
	"coleo.dev/pty"
	"coleo.dev/store"
)

// IsIntended reports whether a prompt is still in r.Intended. This list contains the prompts that the
// host agent is about to type. When the agent CLI ends, another goroutine removes them.
func IsIntended(r *store.ArmRecord, id string) bool {
	return slices.ContainsFunc(r.Intended, func(p coleo.Receipt) bool { return p.ID == id })
}

// Mentions reports whether a text of a session contains the text of a prompt. It compares only letters and digits,
// because agent CLIs change other characters. It leaves out what Coleo never types: see pty.Plain. A command that
// shortens the conversation always counts as contained, because each agent CLI has its own.
func Mentions(text string, p coleo.Receipt) bool {
	plain := func(s string) string {
		return strings.Map(func(r rune) rune {
			if unicode.IsLetter(r) || unicode.IsDigit(r) {
				return r
			}
			return -1
		}, pty.Plain(s))
	}
	return p.Compact || strings.Contains(plain(text), plain(p.Text))
}

// WithoutReceipt returns a copy of a list without the receipt with the given id. It returns nil if
// the copy is empty.
func WithoutReceipt(list []coleo.Receipt, id string) []coleo.Receipt {
	var out []coleo.Receipt
	for _, r := range list {
		if r.ID != id {
			out = append(out, r)
		}
	}
	return out
}

// PauseAfter pauses the queue if the lost prompt p came from the queue, and returns the event.
// After any other lost prompt, it does nothing.
func PauseAfter(r *store.ArmRecord, p coleo.Receipt) []coleo.Event {
	if !p.FollowUp {
		return nil
	}
	why := fmt.Sprintf("nothing proves that the prompt %s has arrived, and it is not sent again", p.ID)
	return SetQueue(r, queue.Pause(Queue(r), why, false), coleo.QueuePaused, p.ID)
}

// PauseAnew pauses the queue of an arm that starts with a new conversation, and ends the arm's
// parking. It returns the events. It does not pause an empty queue.
func PauseAnew(r *store.ArmRecord) []coleo.Event {
	events := Unpark(r, "the arm was started with a new conversation")
	q := Queue(r)
	if len(q.Entries) == 0 {
		return events
	}
	q = queue.Pause(q, "the arm was started with a new conversation", false)
	return append(events, SetQueue(r, q, coleo.QueuePaused, "")...)
}

// LosePrompt returns the events about a lost prompt. If the prompt came from the queue, LosePrompt
// also pauses the queue.
func LosePrompt(r *store.ArmRecord, p coleo.Receipt, reading coleo.Reading) []coleo.Event {
	return append([]coleo.Event{lostPrompt(r.ID, p, reading)}, PauseAfter(r, p)...)
}

// lostPrompt returns the event about a lost prompt. Coleo was about to type this prompt, and
// nothing proves that it has arrived. A lost prompt has no run.
func lostPrompt(arm string, p coleo.Receipt, reading coleo.Reading) coleo.Event {
	return Event(arm, coleo.EventPromptLost, coleo.Change{
		Time: time.Now().UTC(), Kind: coleo.ChangePrompt, Reading: reading,
		Note: "coleo was cut off while it sent a prompt, which cannot be proven to have arrived: " + p.Text,
	})
}
