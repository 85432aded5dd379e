package run

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/api/apiclient"
	"coleo.dev/checked"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/show"
	"coleo.dev/cmd/coleo/verb"
	"coleo.dev/wire"
)

// shownText is the largest width, in cells, of a prompt or an answer in run show if the output is
// not a terminal.
const shownText = 200

// shownHash is how many digits of a hash are shown. This number is large enough to distinguish all
// runs.
const shownHash = 12

func newShowCommand() *cobra.Command {
	answer := false
	c := &cobra.Command{
		Use:   "show RUN",
		Short: "Summarize a run in ten lines",
		Long: `Summarize a run in ten lines: its prompt, its end, its calls of tools, its tokens and
its answer.

RUN is the id of a run, or a beginning that no other run's id has.

--answer prints only the whole answer. If the prompt had a schema, the answer is the
JSON that fits it. If the model was asked again, it is the JSON of the last run. If no
answer fits, the exit code is 22.`,
		Example: `  coleo run show 3F7K
  coleo run show 3F7K --answer | jq .`,
		Args: verb.Exactly(1, "the id of a run"),
		RunE: setup.WithClient(func(c *cobra.Command, client *apiclient.Client, args []string) error {
			r, err := client.Run(c.Context(), args[0])
			if err != nil {
				return err
			}
			switch {
			case answer:
				return printAnswer(c, client, r)
			case verb.WantsJSON(c):
				return verb.PrintJSON(c, r)
			}
			_, err = io.WriteString(show.Writer(c), describeRun(r, time.Now(), show.Width(c)))
			return err
		}),
	}
	c.Flags().BoolVar(&answer, "answer", false, "print the answer alone")
	return c
}

// printAnswer prints the answer of a run. If the run's prompt had a schema, it prints only the JSON
// that fits the schema. This JSON comes from the run, or from a later run in which Coleo asked the
// model again.
func printAnswer(c *cobra.Command, client *apiclient.Client, r coleo.Run) error {
	for r.Retry != "" {
		next, err := client.Run(c.Context(), r.Retry)
		if coleo.ErrorCode(err) == coleo.ENotFound {
			return coleo.Errorf(coleo.EBusy, "the answer of run %s does not fit its schema, and the prompt that asks again "+
				"waits in the queue: 'coleo arm queue %s' shows it", short(r.ID), r.ArmName)
		}
		if err != nil {
			return err
		}
		r = next
	}
	switch {
	case r.Open:
		return coleo.Errorf(coleo.EBusy, "run %s has not ended: it has no answer yet", short(r.ID))
	case r.AnswerCheck == coleo.AnswerUnfit:
		return coleo.Errorf(coleo.EAnswerUnfit, "the answer of run %s does not fit its schema: %s", short(r.ID), r.CheckFault)
	case r.AnswerCheck == coleo.AnswerUnchecked:
		return coleo.Errorf(coleo.EAnswerUnfit, "the answer of run %s was not checked, because its turn did not finish: %s",
			short(r.ID), outcomeWord(r))
	}
	kind := coleo.EventRunEnd
	if r.AnswerCheck == coleo.AnswerFits {
		kind = coleo.EventOutputValidated
	}
	found, _, err := client.Events(c.Context(), wire.EventFilter{Run: r.ID, Kinds: []coleo.EventKind{kind}, Limit: 1})
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return coleo.Errorf(coleo.ENotFound, "the answer of run %s is no longer in the log", short(r.ID))
	}
	if kind == coleo.EventOutputValidated {
		raw := decode[coleo.Validated](found[0]).Answer
		return verb.Say(c, checked.Plain(raw), raw)
	}
	end, err := coleo.DecodeRunEnd(found[0])
	if err != nil {
		return err
	}
	return verb.Say(c, end.Answer, end.Answer)
}

// describeRun returns a description of a run in several lines. It cuts each line to the given
// width. The width 0 means that there is no terminal.
func describeRun(r coleo.Run, now time.Time, width int) string {
	var b strings.Builder
	line := func(name, value string) {
		text := fmt.Sprintf("%-9s %s", name+":", value)
		if width > 0 {
			text = show.Cut(text, width)
		}
		b.WriteString(text + "\n")
	}
	line("Run", r.ID)
	line("Arm", r.ArmName+" ("+show.OrDash(r.Harness)+")")
	line("Prompt", promptText(r))
	line("Began", beginText(r, now))
	line("Ended", endText(r, now))
	line("Turns", fmt.Sprintf("%d, model %s", r.Turns, show.OrDash(r.Model)))
	line("Calls", fmt.Sprintf("%d, %d denied, %d failed, %d not ended; %d changes of files", r.Calls, r.Denied, r.Failed,
		len(r.Orphans), r.Files))
	line("Tokens", tokensText(r.Usage))
	line("Answer", answerText(r))
	if text := checkText(r); text != "" {
		line("Checked", text)
		line("Spec", r.SpecHash[:min(len(r.SpecHash), shownHash)]+", which other runs like it have too")
	}
	line("Events", fmt.Sprintf("%d: coleo run events %s", r.Events, short(r.ID)))
	return b.String()
}

func promptText(r coleo.Run) string {
	if r.Compact {
		return "(none: it shortens the conversation)"
	}
	return show.OrDash(quoted(r.Prompt, r.PromptCut))
}

func answerText(r coleo.Run) string {
	text := quoted(r.Answer, r.AnswerCut)
	if text != "" && !r.Whole {
		text = "(may be incomplete) " + text
	}
	return show.OrDash(text)
}

// checkText describes whether the answer of a run fits the schema of its prompt. It returns "" if
// the prompt had no schema.
func checkText(r coleo.Run) string {
	text := ""
	switch r.AnswerCheck {
	case "":
		return ""
	case coleo.AnswerPending:
		text = "not yet: the run has not ended"
	case coleo.AnswerFits:
		text = "the answer fits the schema"
	case coleo.AnswerUnfit:
		text = "the answer does not fit the schema, " + plain(r.CheckFault)
	case coleo.AnswerUnchecked:
		text = "no: the turn did not finish"
	}
	if r.RetryOf != "" {
		text += "; asked again after run " + short(r.RetryOf)
	}
	if r.Retry != "" {
		text += "; asked again in run " + short(r.Retry)
	}
	return text
}

// quoted returns a text from a model or a user as one line.
func quoted(text string, isCut bool) string {
	out := cut(plain(text), shownText)
	if isCut && !strings.HasSuffix(out, "…") {
		out += "…"
	}
	return out
}

func beginText(r coleo.Run, now time.Time) string {
	if r.Started.IsZero() {
		return "-"
	}
	text := r.Started.Local().Format(time.DateTime) + ", " + show.Since(r.Started, now) + " ago"
	switch r.Origin {
	case coleo.OriginHand:
		text += ", typed by hand"
	case coleo.OriginSelf:
		text += ", by the agent CLI itself"
	case coleo.OriginLate:
		text += ", late: its prompt had been reported as lost"
	}
	return text
}

func endText(r coleo.Run, now time.Time) string {
	word := outcomeColour(r).Paint(outcomeWord(r))
	switch {
	case r.Open:
		return word + ", " + durationOf(r, now) + " so far"
	case r.Ended.IsZero():
		return word
	}
	return word + " after " + durationOf(r, now) + ", " + string(r.Status)
}

func tokensText(u coleo.Usage) string {
	if u.Total() == 0 {
		return "-"
	}
	text := fmt.Sprintf("%d sent (%d from a cache), %d received", u.Input, u.Cached, u.Output)
	if u.Cost > 0 {
		text += fmt.Sprintf("; $%.4f", u.Cost)
	}
	return text
}
