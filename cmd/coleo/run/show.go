package run

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/api"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/show"
	"coleo.dev/cmd/coleo/verb"
)

// shownText is the largest width of a prompt or an answer in run show, in cells, if the
// output is no terminal.
const shownText = 200

func newShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "show RUN",
		Short: "Tell a run in ten lines",
		Long: `Tell a run in ten lines: its prompt, its end, its calls of tools, its tokens and
its answer.

RUN is the id of a run, or a beginning of it that no other run has.`,
		Args: verb.Exactly(1, "the id of a run"),
		RunE: setup.WithClient(func(c *cobra.Command, client *api.Client, args []string) error {
			r, err := client.Run(c.Context(), args[0])
			if err != nil {
				return err
			}
			if verb.WantsJSON(c) {
				return verb.PrintJSON(c, r)
			}
			_, err = io.WriteString(show.Writer(c), story(r, time.Now(), show.Width(c)))
			return err
		}),
	}
}

// story returns the story of a run as text, each line cut to the given width. Width 0
// means that there is no terminal.
func story(r coleo.Run, now time.Time, width int) string {
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
	line("Began", began(r, now))
	line("Ended", ended(r, now))
	line("Turns", fmt.Sprintf("%d, model %s", r.Turns, show.OrDash(r.Model)))
	line("Calls", fmt.Sprintf("%d, %d denied, %d failed, %d not ended; %d changes of files", r.Calls, r.Denied, r.Failed,
		len(r.Orphans), r.Files))
	line("Tokens", tokens(r.Usage))
	line("Answer", answerText(r))
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
		text = "(may lack a part) " + text
	}
	return show.OrDash(text)
}

// quoted returns a text of a model or a user as one line.
func quoted(text string, isCut bool) string {
	out := cut(plain(text), shownText)
	if isCut && !strings.HasSuffix(out, "…") {
		out += "…"
	}
	return out
}

func began(r coleo.Run, now time.Time) string {
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
		text += ", late: its prompt had been told as lost"
	}
	return text
}

func ended(r coleo.Run, now time.Time) string {
	word := outcomeColour(r).Paint(outcomeWord(r))
	switch {
	case r.Open:
		return word + ", " + took(r, now) + " so far"
	case r.Ended.IsZero():
		return word
	}
	return word + " after " + took(r, now) + ", " + string(r.Status)
}

func tokens(u coleo.Usage) string {
	if u.Total() == 0 {
		return "-"
	}
	text := fmt.Sprintf("%d sent (%d from a cache), %d received", u.Input, u.Cached, u.Output)
	if u.Cost > 0 {
		text += fmt.Sprintf("; $%.4f", u.Cost)
	}
	return text
}
