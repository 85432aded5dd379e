package show

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/cmd/coleo/verb"
	"coleo.dev/printable"
)

// CutOff is the note beside a dialog's subject if the agent CLI's screen shows only a part of the
// subject.
const CutOff = "(the screen cuts this off: see the whole text in the terminal before you approve)"

// ExplainHelp is the help of all verbs that print an explanation.
const ExplainHelp = `Explain why the arm is in its state. This prints the rule that matched, the
rows of the screen that it matched, and what each witness reports and since
when.

A witness is a source that reports a state. The screen is one witness. The
agent CLI's escape sequences (osc7501, osc26, osc9;4) and its hook are others.
These other witnesses make a reading more cautious, never less. A report of
them no longer counts after the screen has contradicted it for 3 s.`

// Explanation prints the evidence for a reading.
func Explanation(c *cobra.Command, x coleo.Explanation) error {
	if verb.WantsJSON(c) {
		return verb.PrintJSON(c, x)
	}
	_, err := io.WriteString(Writer(c), explanationText(x))
	return err
}

// explanationText returns text for users about an arm's state and the evidence for it.
func explanationText(x coleo.Explanation) string {
	var b strings.Builder
	r := x.Reading
	fmt.Fprintf(&b, "%s for %s, by rule %q", StateColour(r.State).Paint(string(r.State)), ageAt(r.Since, x.Now), r.Rule)
	if r.Detail != "" {
		fmt.Fprintf(&b, " (%s)", r.Detail)
	}
	if r.Background != "" {
		fmt.Fprintf(&b, ", with work in the background: %s", r.Background)
	}
	b.WriteString("\n")
	if !r.Known {
		b.WriteString(Yellow.Paint("No rule recognizes the present screen, so Coleo types nothing.") + "\n")
	}
	if x.Local != "" {
		b.WriteString(Yellow.Paint("The arm "+x.Local+".") + "\n")
	}
	if x.Blocked != "" {
		b.WriteString(Yellow.Paint("The arm cannot continue: "+x.Blocked+".") + "\n")
	}
	if d := r.Dialog; d != nil {
		fmt.Fprintf(&b, "%s: %s\n", d.Kind, Indented(d.Title, 2))
		b.WriteString(quoted(strings.Split(d.Subject, "\n")))
		if d.Truncated {
			b.WriteString("  " + Yellow.Paint(CutOff) + "\n")
		}
	}
	b.WriteString("\n" + witnessTable(x))
	if x.Unjudged != "" {
		b.WriteString("\n" + Yellow.Paint("Check the state yourself: "+x.Unjudged+".") + "\n")
	}
	if x.Blind != "" {
		b.WriteString("\nThe screen is blind: " + x.Blind + ".\n")
	}
	if x.Redrawn != "" {
		b.WriteString("\nThe picture was redrawn once: " + x.Redrawn + ".\n")
	}
	if x.Disagreement != "" {
		b.WriteString("\n" + Yellow.Paint("The sources of the state disagree: "+x.Disagreement+".") + "\n")
	}
	if rows := quoted(x.Rows); rows != "" {
		b.WriteString("\nRows that the rule matched:\n" + rows)
	}
	return b.String()
}

func witnessTable(x coleo.Explanation) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "WITNESS\tCLAIMS\tBY\tAGE\tCOUNTS")
	for _, v := range x.Witnesses {
		word := v.Rule
		if v.Detail != "" {
			word += " (" + v.Detail + ")"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", v.Name, OrDash(string(v.State)), OrDash(clip(word, 40)),
			ageAt(v.Time, x.Now), countsText(v))
	}
	_ = w.Flush()
	return b.String()
}

// ageAt returns the time from t to now, as text. A time below ten seconds is given in tenths of a
// second.
func ageAt(t, now time.Time) string {
	if d := now.Sub(t); !t.IsZero() && d >= 0 && d < 10*time.Second {
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return Since(t, now)
}

// countsText describes whether the report of a witness counts, and if not, why. A witness is one source about
// the arm's state, such as the screen or a hook.
func countsText(v coleo.Witness) string {
	switch {
	case v.Lapsed:
		return "no, it has lapsed"
	case v.State == "":
		return "it claims nothing"
	}
	return "yes"
}

// clip shortens a text to at most the given number of characters. A shortened text ends with "…".
func clip(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

// quoted returns the rows that are not blank, each with a bar in front.
func quoted(rows []string) string {
	var b strings.Builder
	for _, row := range rows {
		if strings.TrimSpace(row) != "" {
			b.WriteString("  | " + printable.Marked(row) + "\n")
		}
	}
	return b.String()
}
