package opencodeapi

import (
	"context"
	"slices"
	"strings"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/opencode"
)

// message contains the fields that Coleo reads of a message of the conversation (1.18.33).
type message struct {
	Info struct {
		opencode.Info
		ID     string `json:"id"`
		Parent string `json:"parentID"` // in a reply: the id of its prompt
	} `json:"info"`
	Parts []part `json:"parts"`
}

// text joins the texts of the message's text parts, without the texts that OpenCode itself has added.
func (m message) text() string {
	var texts []string
	for _, p := range m.Parts {
		if p.Type == "text" && !p.Synthetic && p.Text != "" {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}

func (s *Session) messages(ctx context.Context) ([]message, error) {
	srv, err := s.readyServer()
	if err != nil {
		return nil, err
	}
	var out []message
	err = srv.do(ctx, "GET", "/session/"+s.Handle().Conversation+"/message", nil, &out)
	return out, err
}

// Answer returns the assistant's last text since the last prompt. The answer is empty if there is no such
// text yet. Answer returns the errors of ready and of the request.
func (s *Session) Answer(ctx context.Context, _ coleo.Receipt) (coleo.Answer, error) {
	messages, err := s.messages(ctx)
	if err != nil {
		return coleo.Answer{}, err
	}
	var last string
	for _, m := range messages {
		if text := m.text(); m.Info.Role == "user" {
			last = ""
		} else if text != "" {
			last = text
		}
	}
	return coleo.Answer{Text: last, Source: "http"}, nil
}

// Prove searches for the prompt that Coleo was about to send at the time r.Time. It returns ProofAccepted if
// a message since that time is the prompt, and if the server works or has replied to the message. OpenCode
// 1.18.33 can keep the message of a prompt and forget to work on it. So if the message has no reply, Prove
// returns EBusy until startedTimeout has passed, and "" afterwards. If no message is the prompt, it returns
// "". It also returns the errors of ready and of the request.
func (s *Session) Prove(ctx context.Context, r coleo.Receipt) (coleo.Proof, error) {
	sent, isReplied, err := s.findPrompt(ctx, r)
	if err != nil || sent == nil {
		return "", err
	}
	now := s.State().State
	if isReplied || now.Working() || now == coleo.WaitingApproval {
		return coleo.ProofAccepted, nil
	}
	if time.Since(time.UnixMilli(sent.Info.Time.Created)) < startedTimeout {
		return "", coleo.Errorf(coleo.EBusy, "%s has the prompt, and may still begin to work on it", s.h.spec.Title)
	}
	return "", nil
}

// findPrompt returns the message since the time r.Time that is the prompt with the receipt r, or nil. It also reports
// whether the server has replied to this message. If several messages are the prompt, it prefers one with a reply.
func (s *Session) findPrompt(ctx context.Context, r coleo.Receipt) (found *message, isReplied bool, err error) {
	messages, err := s.messages(ctx)
	if err != nil {
		return nil, false, err
	}
	for i, m := range messages {
		if m.Info.Role != "user" || m.Info.Time.Created < r.Time.UnixMilli() || !m.begins(r) {
			continue
		}
		found = &messages[i]
		if slices.ContainsFunc(messages, func(reply message) bool { return reply.Info.Parent == m.Info.ID }) {
			return found, true, nil
		}
	}
	return found, false, nil
}

// begins reports whether the message is the prompt with the receipt r, or the order to shorten the conversation.
func (m message) begins(r coleo.Receipt) bool {
	if r.Compact {
		return slices.ContainsFunc(m.Parts, func(p part) bool { return p.Type == "compaction" && !p.Auto })
	}
	return m.text() == r.Text
}

// Usage adds up the usage of the conversation's messages. It returns the errors of ready and of the
// request.
func (s *Session) Usage(ctx context.Context) (coleo.Usage, error) {
	messages, err := s.messages(ctx)
	u := coleo.SumUsage(func(yield func(coleo.Usage) bool) {
		for _, m := range messages {
			if !yield(m.Info.Usage()) {
				return
			}
		}
	})
	u.Source = "http"
	return u, err
}
