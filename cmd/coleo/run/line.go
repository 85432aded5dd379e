package run

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"coleo.dev"
	"coleo.dev/cmd/coleo/show"
	"coleo.dev/printable"
	"coleo.dev/pty"
)

// lineText is the largest width of a summary, in cells, if the output is not a terminal.
const lineText = 160

// line returns one event as a line for users: time, arm, turn, kind and a summary.
func (p *printer) line(arm string, e coleo.Event) string {
	turn := ""
	if e.Turn > 0 {
		turn = fmt.Sprint(e.Turn)
	}
	text, colour := p.summary(e)
	return fmt.Sprintf("%s %s %3s %s %s", e.Time.Local().Format(time.TimeOnly), pad(cut(arm, armWidth), armWidth), turn,
		pad(string(e.Kind), 15), colour.Paint(cut(plain(text), lineText)))
}

// summary describes an event in a few words, and returns the colour of these words.
func (p *printer) summary(e coleo.Event) (string, show.Colour) {
	if e.Kind.IsWork() {
		w, err := coleo.DecodeWork(e)
		if err != nil {
			return "(unreadable)", show.Red
		}
		return p.work(e.Run, w)
	}
	switch e.Kind {
	case coleo.EventRunStart:
		r := decode[coleo.Receipt](e)
		if line := show.Cleared(r); line != "" {
			return r.Text + " (" + line + ")", show.Plain
		}
		return r.Text, show.Plain
	case coleo.EventRunEnd:
		end, _ := coleo.DecodeRunEnd(e)
		return words(string(end.Outcome), end.Answer), outcomeColour(coleo.Run{Outcome: end.Outcome})
	case coleo.EventInputValidated, coleo.EventOutputValidated:
		v := decode[coleo.Validated](e)
		if v.OK {
			return "it fits " + string(v.Answer), show.Green
		}
		return "it does not fit: " + v.Line(), show.Red
	case coleo.EventOutputRetry:
		again := decode[coleo.Retry](e)
		return fmt.Sprintf("asked again, %d more after that: run %s", again.Left, short(again.Run)), show.Yellow
	case coleo.EventDecision:
		d := decode[coleo.Decided](e)
		return fmt.Sprintf("%s: %s %s", d.Decision.Choice, d.Dialog.Title, d.Dialog.Subject), show.Yellow
	case coleo.EventPolicy:
		return policy(decode[coleo.PolicyDecision](e))
	case coleo.EventState, coleo.EventUnrecognised, coleo.EventWitness, coleo.EventPromptLost, coleo.EventWindow:
		return change(decode[coleo.Change](e))
	case coleo.EventSpawned, coleo.EventReattached:
		h := decode[coleo.Handle](e)
		return fmt.Sprintf("%s in %s, process %d", h.Harness, h.Workdir, h.Process.PID), show.Plain
	case coleo.EventWorkspaceChanged, coleo.EventWorkspaceReady:
		w := decode[coleo.WorkspaceChange](e)
		return words(append([]string{w.Status, w.Branch, w.Path, w.Kept}, w.Notes...)...), show.Plain
	case coleo.EventMerge:
		m := decode[coleo.MergeChange](e)
		branch := m.Branch
		if m.Repo != "" {
			branch = m.Repo + ": " + branch
		}
		return words(string(m.Step), m.Way, branch, "into", m.Into, short(m.After), m.Why), show.Plain
	case coleo.EventLabels:
		return coleo.Labels(decode[coleo.Labelled](e).Labels).String(), show.Plain
	case coleo.EventBudget:
		b := decode[coleo.BudgetChange](e)
		colour := show.Plain
		if b.Why != "" {
			colour = show.Yellow
		}
		return words(string(b.Step)+":", b.Line(), b.Why), colour
	case coleo.EventParked:
		c := decode[coleo.ParkChange](e)
		if c.IsParked() {
			return c.Parking().Line(), show.Yellow
		}
		return words(string(c.Step), c.Why), show.Plain
	case coleo.EventOnLimit:
		c := decode[coleo.OnLimitChange](e)
		return words("at a limit:", string(c.From), "→", string(c.To)), show.Plain
	case coleo.EventHandover:
		c := decode[coleo.HandoverChange](e)
		return words(string(c.Step)+":", c.From.Name, "→", c.To.Name, "("+c.To.Harness+")", c.Why), show.Plain
	case coleo.EventStopped:
		return decode[coleo.Reading](e).Rule, show.Plain
	default: // the payload of any other kind has only a note, or nothing to print
		return decode[coleo.Note](e).Text, show.Plain
	}
}

// policy returns the summary of a policy's decision.
func policy(p coleo.PolicyDecision) (string, show.Colour) {
	done := "not answered"
	switch {
	case p.Applied:
		done = "answered"
	case p.Mode == coleo.PolicyShadow:
		done = "shadow"
	}
	return fmt.Sprintf("%s (%s; %s): %s; %s", p.Decision, p.Rule, words(done, p.Problem), p.Why, p.Subject),
		map[string]show.Colour{"allow": show.Green, "ask": show.Yellow, "deny": show.Red}[p.Decision]
}

// change returns the summary of a change that a session has observed.
func change(c coleo.Change) (string, show.Colour) {
	r := c.Reading
	text := words(string(r.State), r.Rule)
	if r.Dialog != nil {
		text = words(text, r.Dialog.Title, r.Dialog.Subject)
	}
	if c.Window != nil {
		text = string(c.Window.State)
	}
	return words(text, c.Note), show.StateColour(r.State)
}

// The method work returns the summary of a work event, which reports for example a call or a text. If
// the event is the end of a call, the summary includes what the call was about.
func (p *printer) work(run string, w coleo.Work) (string, show.Colour) {
	switch w := w.(type) {
	case coleo.Turn:
		return w.Model, show.Plain
	case coleo.AssistantText:
		return w.Text, show.Plain
	case coleo.Thinking:
		return w.Text, show.Plain
	case coleo.ToolCall:
		about := callText(w)
		p.calls[run+" "+w.ID] = about
		return about, show.Cyan
	case coleo.ToolProgress:
		return words(p.aboutText(run, w.ID), w.Output), show.Plain
	case coleo.ToolEnd:
		about := p.aboutText(run, w.ID)
		delete(p.calls, run+" "+w.ID)
		return words(about+" → "+string(w.Outcome), w.Reason), toolColour(w.Outcome)
	case coleo.SubagentStart:
		return words(w.Type, w.Task), show.Cyan
	case coleo.SubagentEnd:
		return w.ID + " → " + string(w.Outcome), toolColour(w.Outcome)
	case coleo.FileChanged:
		return w.Path, show.Plain
	case coleo.ReplyUsage:
		return tokensText(w.Usage), show.Plain
	case coleo.Compaction:
		return fmt.Sprintf("%d → %d tokens", w.Before, w.After), show.Plain
	case coleo.ModeChanged:
		return w.From + " → " + w.To, show.Plain
	case coleo.ModelChanged:
		if w.Fallback != nil {
			return w.Fallback.Line(), show.Yellow
		}
		return w.From + " → " + w.To, show.Plain
	case coleo.TasksUpdated:
		return taskText(w.Tasks), show.Plain
	case coleo.ShellInput:
		return w.Command, show.Cyan
	case coleo.ShellProgress:
		return w.Output, show.Plain
	case coleo.ShellOutput:
		return shellText(w), show.Plain
	case coleo.Problem:
		return w.Text, show.Red
	case coleo.Remark:
		return w.Text, show.Plain
	case coleo.Suspended:
		return words("asks", w.Text), show.Yellow
	case coleo.SuspensionAnswered:
		return suspensionText(w.Suspension), show.Plain
	}
	return "", show.Plain
}

// aboutText returns what a call is about. If the printer has not seen the beginning of the call,
// aboutText returns the call's id.
func (p *printer) aboutText(run, id string) string {
	if about := p.calls[run+" "+id]; about != "" {
		return about
	}
	return id
}

// callText returns the name of a tool and its most informative argument.
func callText(c coleo.ToolCall) string {
	switch {
	case c.Malformed != nil:
		return c.Name + ": malformed arguments: " + c.Malformed.Error
	case c.Command != "":
		return c.Name + ": " + c.Command
	case len(c.Files) > 0:
		return c.Name + ": " + strings.Join(c.Files, " ")
	}
	return words(c.Name+":", string(c.Arguments))
}

func toolColour(o coleo.ToolOutcome) show.Colour {
	switch o {
	case coleo.ToolSuccess:
		return show.Green
	case coleo.ToolDenied:
		return show.Yellow
	case coleo.ToolError:
		return show.Red
	}
	return show.Plain
}

func taskText(list []coleo.Task) string {
	done, now := 0, ""
	for _, t := range list {
		switch t.Status {
		case coleo.TaskDone:
			done++
		case coleo.TaskRunning:
			now = t.Text
		case coleo.TaskPending:
		}
	}
	return words(fmt.Sprintf("%d of %d done", done, len(list)), now)
}

func shellText(o coleo.ShellOutput) string {
	text := o.Output + " " + o.Errors
	if o.ExitCode != nil {
		text = fmt.Sprintf("exit %d: %s", *o.ExitCode, text)
	}
	return text
}

// words joins the texts that are not empty with blanks.
func words(list ...string) string {
	var out []string
	for _, s := range list {
		if s = strings.TrimSpace(s); s != "" {
			out = append(out, s)
		}
	}
	return strings.Join(out, " ")
}

// plain returns a text from another program as one line without invisible characters and escape
// sequences.
func plain(s string) string {
	var stripper pty.Stripper
	text := string(stripper.Strip([]byte(s[:min(len(s), coleo.MaxRunText)])))
	return printable.Line(text)
}

// cut shortens a text to the given number of cells. A shortened text ends with "…".
func cut(s string, cells int) string {
	if pty.Cells(s) <= cells {
		return s
	}
	return show.Cut(s, cells-1) + "…"
}

// pad adds spaces to a text that has fewer than the given number of cells.
func pad(s string, cells int) string { return s + strings.Repeat(" ", max(0, cells-pty.Cells(s))) }

// decode returns the payload of an event. Unreadable parts of the payload keep their zero values.
func decode[T any](e coleo.Event) (v T) {
	_ = json.Unmarshal(e.Payload, &v)
	return v
}

// suspensionText describes a question's answer, or that the question was withdrawn.
func suspensionText(s coleo.Suspension) string {
	d := s.Decision
	if d == nil {
		return "withdrawn: " + s.Text
	}
	answer := words(string(d.Choice), d.Words)
	switch {
	case len(d.Options) > 0:
		answer = words(answer, fmt.Sprint("options ", d.Options))
	case d.Option > 0:
		answer = words(answer, fmt.Sprint("option ", d.Option))
	}
	return s.Text + " → " + answer
}
