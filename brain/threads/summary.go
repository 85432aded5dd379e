package threads

import (
	"context"

	"coleo.dev"
	"coleo.dev/store"
	"coleo.dev/summary"
)

// summaryPage is the number of messages or events that are read at once.
const summaryPage = 200

// ThreadSummary returns a summary of a conversation. It reads the whole conversation, and the events of all
// arms that may have had the conversation. It returns ENotFound if there is no such conversation.
func (v *Conversations) ThreadSummary(ctx context.Context, harness, id string) (coleo.ThreadSummary, error) {
	return v.SummariseThread(ctx, harness, id, func(coleo.ThreadMessage) bool { return true })
}

// SummariseThread does the same as ThreadSummary, but only for the messages for which isCounted
// returns true. It calls isCounted once for each message, in their order.
func (v *Conversations) SummariseThread(ctx context.Context, harness, id string,
	isCounted func(coleo.ThreadMessage) bool) (coleo.ThreadSummary, error) {
	var m *summary.Maker
	var t coleo.Thread
	for after := 0; ; {
		page, err := v.Thread(ctx, harness, id, after, summaryPage)
		if err != nil {
			return coleo.ThreadSummary{}, err
		}
		if m == nil {
			t = page.Thread
			m = summary.New(t)
		}
		for _, message := range page.Messages {
			if isCounted(message) {
				m.Message(message)
			}
		}
		if after = page.Next; after == 0 {
			break
		}
	}
	arms, err := v.config.DB.Arms(ctx, true)
	if err != nil {
		return coleo.ThreadSummary{}, err
	}
	for _, arm := range arms {
		if arm.SessionID == t.ID || t.Folder != "" && arm.Workdir == t.Folder {
			m.Arm(arm.SessionID == t.ID)
			if err := v.EachEvent(ctx, arm.ID, summary.Kinds(), m.Event); err != nil {
				return coleo.ThreadSummary{}, err
			}
		}
	}
	return m.Summary(), nil
}

// EachEvent calls a function for an arm's events whose kind is in `kinds`, in the order of the log.
func (v *Conversations) EachEvent(ctx context.Context, arm string, kinds []coleo.EventKind,
	take func(coleo.Event)) error {
	for after := uint64(0); ; {
		list, next, err := v.config.DB.RunEvents(ctx, store.EventFilter{Arm: arm, Kinds: kinds, After: after,
			Limit: summaryPage})
		if err != nil || len(list) == 0 {
			return err
		}
		for _, e := range list {
			take(e)
		}
		after = next
	}
}
