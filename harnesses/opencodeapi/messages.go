package opencodeapi

import (
	"context"
	"strings"

	"coleo.dev"
	"coleo.dev/harnesses/opencode"
)

// message holds the fields that Coleo uses from a message of the conversation (1.18.33).
type message struct {
	Info  opencode.Info `json:"info"`
	Parts []part        `json:"parts"`
}

// text joins the texts of the message's text parts.
func (m message) text() string {
	var texts []string
	for _, p := range m.Parts {
		if p.Type == "text" && p.Text != "" {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}

func (s *Session) messages(ctx context.Context) ([]message, error) {
	srv, err := s.ready()
	if err != nil {
		return nil, err
	}
	var out []message
	err = srv.do(ctx, "GET", "/session/"+s.Handle().Conversation+"/message", nil, &out)
	return out, err
}

// Answer returns the text of the assistant's last message that has text. It considers only messages
// after the last prompt. If no such message exists yet, the answer is empty. Answer returns the
// errors of ready and of the request.
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

// Prove looks for a prompt that Coleo was about to send at the time r.Time. It searches the
// messages since that time. If one of these messages is the prompt, Prove returns ProofAccepted.
// Otherwise, it returns "". Prove returns the errors of s.ready and of the request.
func (s *Session) Prove(ctx context.Context, r coleo.Receipt) (coleo.Proof, error) {
	messages, err := s.messages(ctx)
	if err != nil {
		return "", err
	}
	for _, m := range messages {
		if m.Info.Role == "user" && m.Info.Time.Created >= r.Time.UnixMilli() && m.text() == r.Text {
			return coleo.ProofAccepted, nil
		}
	}
	return "", nil
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
