// Package why contains the verb "why", which shows the call that wrote a line of a file. It also
// contains the verb "run graph", which shows a run as a graph.
package why

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/api/apiclient"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/show"
	"coleo.dev/cmd/coleo/verb"
	"coleo.dev/graph"
	"coleo.dev/printable"
	"coleo.dev/wire"
)

// maxLine is the largest size of a line about which the user can ask, in bytes. The line is sent to
// serve in the header of a request, which has at most 64 KiB.
const maxLine = 16 << 10

// maxFile is the largest size of a file that the verb "why" reads, in bytes. Source files are
// smaller.
const maxFile = 64 << 20

// Command returns the verb "why".
func Command() *cobra.Command {
	return &cobra.Command{
		Use:   "why FILE:LINE",
		Short: "Show which call of which run wrote a line of a file",
		Long: `Show which call of which run wrote a line of a file: the prompt, the call, who
approved it, and how to see the arm's screen at that moment.

The answer says how sure it is. Either this call wrote exactly this line, or it
changed the file and the line is not in its text. If a shell command names the
file, the answer shows that command as a possibility. Coleo knows only what an
agent CLI's record reports, and only while those events are kept.`,
		Example: `  coleo why src/main.go:12
  coleo why src/main.go:12 --json`,
		Args: verb.Exactly(1, "a file and a line, such as main.go:12"),
		RunE: setup.WithClient(func(c *cobra.Command, client *apiclient.Client, args []string) error {
			q, same, err := parseQuestion(args[0])
			if err != nil {
				return err
			}
			a, err := client.Why(c.Context(), q)
			if err != nil {
				return err
			}
			return verb.Say(c, answer(a, args[0], same, time.Now()), a)
		}),
	}
}

// parseQuestion returns the question about FILE:LINE, and how many lines of the file have the same
// text.
func parseQuestion(arg string) (wire.WhyQuestion, int, error) {
	file, number, _ := cutLast(arg, ":")
	line, err := strconv.Atoi(number)
	if file == "" || err != nil || line < 1 {
		return wire.WhyQuestion{}, 0, coleo.Errorf(coleo.EInvalid,
			"%q is not a file and a line: write FILE:LINE, such as main.go:12", arg)
	}
	path, err := filepath.Abs(file)
	if err != nil {
		return wire.WhyQuestion{}, 0, coleo.Errorf(coleo.EInvalid, "find the path of %s: %v", file, err)
	}
	text, same, err := readLine(path, line)
	if err != nil {
		return wire.WhyQuestion{}, 0, err
	}
	q := wire.WhyQuestion{Paths: []string{path}, Line: line, Text: text}
	if target, err := filepath.EvalSymlinks(path); err == nil && target != path {
		q.Paths = append(q.Paths, target)
	}
	return q, same, nil
}

// cutLast cuts s at the last occurrence of sep.
func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// readLine returns a line of a file without its line end, and how many lines of the file have the
// same text.
func readLine(path string, number int) (text string, same int, err error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		// a pipe is refused too, because opening it would block
		return "", 0, coleo.Errorf(coleo.EInvalid, "%s is not a file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return "", 0, coleo.Errorf(coleo.EInvalid, "the file %s cannot be read (%v): give the path of a file", path,
			verb.Cause(err))
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Size() > maxFile {
		return "", 0, coleo.Errorf(coleo.EInvalid, "%s is larger than %d MiB", path, maxFile>>20)
	}
	times := map[string]int{}
	found, n := false, 0
	for r := bufio.NewReader(f); ; {
		line, err := r.ReadString('\n')
		if line != "" {
			n++
			line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
			if times[line]++; n == number {
				text, found = line, true
			}
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return "", 0, coleo.Errorf(coleo.EInvalid, "read %s: %v", path, err)
		}
	}
	switch {
	case !found:
		return "", 0, coleo.Errorf(coleo.EInvalid, "%s has no line %d: its last line is %d", path, number, n)
	case len(text) > maxLine:
		return "", 0, coleo.Errorf(coleo.EInvalid, "line %d of %s has more than %d bytes: ask for a shorter line", number,
			path, maxLine)
	}
	return text, times[text], nil
}

// answer returns the answer as text for people. sameLines is the number of lines in the file whose text
// equals the text of the line that the user asked about. This line counts too.
func answer(a graph.Answer, asked string, sameLines int, now time.Time) string {
	out := []string{shownLine(asked+": "+strings.TrimSpace(a.Text), 78), withCapital(a.Note) + "."}
	if a.Certainty == graph.Wrote && sameLines > 1 {
		out = append(out, fmt.Sprintf("%d lines of the file have this text. The call may have written another of them.",
			sameLines))
	}
	row := func(name, text string) {
		if text != "" {
			out = append(out, fmt.Sprintf("  %-9s %s", name, text))
		}
	}
	if a.Run != nil && a.Run.Prompt != nil {
		row("arm", shownLine(nameOf(a), 60))
		row("prompt", shownLine(a.Run.Prompt.Text, 66))
	}
	if a.Call != nil {
		row("call", shownLine(callOf(*a.Call), 66))
		row("time", fmt.Sprintf("%s (%s ago)", a.Call.Start.Local().Format(time.DateTime), show.Since(a.Call.Start, now)))
		row("approved", approvalText(a))
		row("moment", momentText(a))
	}
	if a.Run != nil {
		row("run", "coleo run graph "+a.Run.ID)
	}
	if len(a.Possible) > 0 {
		out = append(out, "Commands that name the file, and may have changed it:")
		for _, m := range a.Possible {
			out = append(out, "  "+m.Time.Local().Format(time.DateTime)+"  "+shownLine(m.Command, 57))
		}
	}
	return strings.Join(out, "\n")
}

// nameOf returns the arm's name. If the arm has been removed, it returns the arm's id.
func nameOf(a graph.Answer) string {
	if a.ArmName != "" {
		return a.ArmName
	}
	return a.Arm + " (removed)"
}

func callOf(n graph.Node) string {
	if n.Call == nil {
		return n.ID
	}
	what := n.Call.Command
	if what == "" {
		what = strings.Join(n.Call.Files, " ")
	}
	if what != "" {
		what = ": " + what
	}
	if n.Turn > 0 {
		return fmt.Sprintf("%s%s (turn %d)", n.Call.Name, what, n.Turn)
	}
	return n.Call.Name + what
}

// approvalText describes how the call was approved, who approved it, and how certain this is.
func approvalText(a graph.Answer) string {
	if a.Approval == nil || a.Approval.Approval == nil {
		return "no approval is known for this call"
	}
	p := a.Approval.Approval
	text := string(p.Choice) + " " + a.Approval.Start.Local().Format(time.TimeOnly)
	if p.Policy != "" {
		text += ", by the policy (" + p.Policy + ")"
	}
	if a.Approver != nil {
		text += " by " + callerText(*a.Approver)
		if a.ApproverMatched == "time" {
			text += ", by the time"
		}
	}
	if p.Matched == graph.MatchOrder {
		return shownLine(text, 66) + "\n            (matched by the order alone, so it may be another call's)"
	}
	return shownLine(text, 66)
}

func callerText(c coleo.Caller) string {
	switch c.Kind {
	case coleo.CallerSocket:
		return fmt.Sprintf("%s (process %d, user %d)", c.Program, c.PID, c.UID)
	case coleo.CallerCookie:
		return "browser " + c.ID
	case coleo.CallerToken:
		return "API token " + c.ID
	case coleo.CallerOperator:
		return "operator token " + c.ID
	}
	return "somebody"
}

// momentText returns the command that shows the arm's screen at the end of the call.
func momentText(a graph.Answer) string {
	if a.ArmName == "" {
		return ""
	}
	at := a.Call.End
	if at.IsZero() {
		at = a.Call.Start
	}
	text := fmt.Sprintf("coleo arm screen %s --at %s", a.ArmName, at.UTC().Format("2006-01-02T15:04:05.000Z"))
	if a.Run != nil && a.Run.Prompt != nil {
		text += fmt.Sprintf("\n            (the prompt is at byte %d of the recording", a.Run.Prompt.Offset)
		if a.Generation > 0 {
			text += fmt.Sprintf(" of start %d", a.Generation)
		}
		text += ")"
	}
	return text
}

// shownLine returns a text as one line of at most maxCells cells, without invisible characters.
func shownLine(s string, maxCells int) string {
	s = printable.Line(s)
	if cut := show.Cut(s, maxCells); cut != s {
		return show.Cut(s, maxCells-1) + "…"
	}
	return s
}

// withCapital returns s with an upper-case first letter.
func withCapital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
