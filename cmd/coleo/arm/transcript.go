package arm

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/api/apiclient"
	"coleo.dev/wire"
)

// eventPage is the number of events that one request fetches.
const eventPage = 1000

// conversationStep is one step in an arm's conversation.
type conversationStep struct {
	Time time.Time `json:"time"`
	Run  string    `json:"run,omitempty"`
	// Who is "user", "agent" or "decision". It is "lost" for a prompt that may have been lost,
	// because nothing proves that the prompt arrived.
	Who     string        `json:"who"`
	Text    string        `json:"text"`
	Outcome coleo.Outcome `json:"outcome,omitempty"` // how the turn ended; set only for an answer
	Source  string        `json:"source,omitempty"`  // the source of an answer: see coleo.Answer.Source
	Whole   bool          `json:"whole,omitempty"`   // the answer is complete
	Compact bool          `json:"compact,omitempty"` // whether the turn shortens the conversation
}

func newTranscriptCommand() *cobra.Command {
	c := oneArmCommand("transcript", "Print the arm's conversation: prompts, answers and decisions",
		func(c *cobra.Command, client *apiclient.Client, name string) (string, any, error) {
			list, err := transcript(c.Context(), client, name)
			if err != nil {
				return "", nil, err
			}
			blocks := make([]string, len(list))
			for i, s := range list {
				blocks[i] = s.String()
			}
			return strings.Join(blocks, "\n\n"), map[string][]conversationStep{"transcript": list}, nil
		})
	c.Long = `Print the arm's conversation: prompts, answers and decisions, the oldest first.

It contains the turns that Coleo has recorded as runs. It contains a prompt that
somebody typed by hand in 'coleo arm attach' only if the agent CLI's own record
shows it. Each answer names its source: the agent CLI's hook, its transcript,
its HTTP API, or the screen. An answer from the screen may be incomplete.`
	return c
}

// transcript returns an arm's conversation. It builds the conversation from the arm's events.
func transcript(ctx context.Context, client *apiclient.Client, name string) ([]conversationStep, error) {
	out, _, err := transcriptAfter(ctx, client, name, "")
	return out, err
}

// transcriptAfter returns the part of an arm's conversation after a cursor, and the cursor of the
// end of that part.
func transcriptAfter(ctx context.Context, client *apiclient.Client, name,
	after string) ([]conversationStep, string, error) {
	out := []conversationStep{}
	for f := (wire.EventFilter{Arm: name, Limit: eventPage, After: after}); ; {
		list, next, err := client.Events(ctx, f)
		if err != nil || len(list) == 0 {
			return out, f.After, err
		}
		for _, e := range list {
			step, err := stepOf(e)
			if err != nil {
				return out, f.After, coleo.Errorf(coleo.EInternal, "read event %d of arm %s: %v", e.Seq, name, err)
			}
			if step.Who != "" {
				step.Time, step.Run = e.Time, e.Run
				out = append(out, step)
			}
		}
		f.After = next
	}
}

// stepOf returns the step that an event adds to the conversation. Most events add nothing: their
// step is the zero step.
func stepOf(e coleo.Event) (conversationStep, error) {
	switch e.Kind {
	case coleo.EventRunStart:
		var r coleo.Receipt
		err := json.Unmarshal(e.Payload, &r)
		return conversationStep{Who: "user", Text: r.Text, Compact: r.Compact}, err
	case coleo.EventRunEnd:
		end, err := coleo.DecodeRunEnd(e)
		return conversationStep{Who: "agent", Text: end.Answer, Outcome: end.Outcome, Source: end.Source,
			Whole: end.Whole, Compact: end.Compact}, err
	case coleo.EventDecision:
		var d coleo.Decided
		err := json.Unmarshal(e.Payload, &d)
		return conversationStep{Who: "decision", Text: decisionText(d)}, err
	case coleo.EventPromptLost:
		var c coleo.Change
		err := json.Unmarshal(e.Payload, &c)
		return conversationStep{Who: "lost", Text: c.Note}, err
	default: // events of other kinds add nothing to the conversation
	}
	return conversationStep{}, nil
}

func decisionText(d coleo.Decided) string {
	what := map[coleo.Choice]string{coleo.ChoiceApprove: "approved", coleo.ChoiceApproveAlways: "approved for good",
		coleo.ChoiceDeny: "denied", coleo.ChoiceAnswer: "answered"}[d.Decision.Choice]
	if d.Policy != "" {
		what += " by the policy (" + d.Policy + ")"
	}
	text := what + ": " + d.Dialog.Title
	if d.Dialog.Subject != "" {
		text += "\n" + d.Dialog.Subject
	}
	for _, n := range append([]int{d.Decision.Option}, d.Decision.Options...) {
		if n < 1 || n > len(d.Dialog.Options) {
			continue
		}
		text += "\nwith: " + d.Dialog.Options[n-1]
	}
	if d.Decision.Words != "" {
		text += "\nwith the words: " + d.Decision.Words
	}
	return text
}

// String returns the step as text: a heading and the step's text.
func (s conversationStep) String() string {
	head := map[string]string{"user": "prompt", "agent": "answer", "decision": "decision",
		"lost": "not proven to have arrived"}[s.Who]
	var notes []string
	if s.Outcome != "" && s.Outcome != coleo.OutcomeFinished {
		notes = append(notes, "turn "+string(s.Outcome))
	}
	if s.Source != "" {
		notes = append(notes, "from the "+s.Source)
	}
	if s.Who == "agent" && s.Text != "" && !s.Whole {
		notes = append(notes, "may be incomplete")
	}
	if len(notes) > 0 {
		head += " (" + strings.Join(notes, ", ") + ")"
	}
	text := s.Text
	if s.Who == "agent" && s.Compact && text == "" {
		head, text = "the conversation is shorter", "(this has no answer)"
	}
	if text == "" {
		text = "(nothing)"
	}
	return fmt.Sprintf("── %s  %s\n%s", s.Time.Local().Format(time.DateTime), head, strings.TrimRight(text, "\n"))
}

func newLastCommand() *cobra.Command {
	c := oneArmCommand("last", "Print the arm's last answer",
		func(c *cobra.Command, client *apiclient.Client, name string) (string, any, error) {
			last, err := client.LastRun(c.Context(), name)
			return last.Answer, last, err
		})
	c.Long = `Print the arm's last answer. This also works after the arm has ended.

For a program without answers (harness generic), this prints the program's
output.`
	return c
}
