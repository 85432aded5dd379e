package arm

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/api/apiclient"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/show"
	"coleo.dev/cmd/coleo/terminal"
	"coleo.dev/cmd/coleo/verb"
)

// This file contains the verb arm status.

func newStatusCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "status [NAME]",
		Short: "Show everything about one arm",
		Long: `Show everything about one arm: its state, its open dialog, its health and more.

Without a NAME, and on a terminal, this lets you choose an arm.`,
		Args: verb.AtMost(1, "the name of an arm"),
		RunE: setup.WithClient(func(c *cobra.Command, client *apiclient.Client, args []string) error {
			if len(args) == 0 {
				name, err := pickArm(c, client)
				if err != nil {
					return err
				}
				args = []string{name}
			}
			arm, err := client.Arm(c.Context(), args[0])
			if err != nil {
				return err
			}
			if verb.WantsJSON(c) {
				return verb.PrintJSON(c, arm)
			}
			if parent, err := client.Arm(c.Context(), arm.ParentArmID); err == nil && arm.ParentArmID != "" {
				arm.ParentArmID = parent.Name // people prefer the name
			}
			_, err = fmt.Fprintln(show.Writer(c), statusText(arm, time.Now())+pullText(arm.ID))
			return err
		}),
	}
}

// statusText returns what 'coleo arm status' prints about an arm.
func statusText(arm coleo.Arm, now time.Time) string {
	var p statusPage
	p.line("Arm", arm.Name)
	if by := arm.SpawnConfig().Succeeds; by != nil {
		p.line("Successor of", by)
	} else if arm.ParentArmID != "" {
		p.line("Subarm of", arm.ParentArmID)
	}
	p.line("Status", arm.Status)
	p.painted("State", fmt.Sprintf("%s (rule %s)%s", show.StateColour(arm.State).Paint(string(arm.State)),
		show.OrDash(arm.Rule), asOf(arm, now)))
	p.addHarness(arm)
	p.addPlace(arm)
	p.addStart(arm)
	if c := arm.Budget; c != nil {
		p.line("Budget", c.Line())
		p.note(c.Why)
	}
	if arm.Queue != nil {
		p.addQueue(arm.Name, arm.Queue)
	}
	if arm.Dialog != nil {
		p.addDialog(arm.Name, arm.Dialog)
	}
	for _, s := range arm.Suspensions {
		p.line("Asks", s.Line())
		if s.Line() != strings.TrimSpace(s.Text) {
			p.note(fmt.Sprintf("read the whole text before you answer: 'coleo arm questions %s'", arm.Name))
		}
		p.line("Question", s.ID)
		if len(s.Options) > 0 {
			p.line("Options", numbered(s.Options))
		}
	}
	p.addRuntime(arm.Runtime)
	return p.String()
}

// statusPage is the text of 'coleo arm status'. Each line begins with a name, such as "Model:", or continues
// the line above it.
type statusPage struct{ strings.Builder }

// nameWidth is the width of the names in a statusPage, in cells.
const nameWidth = 16

// line adds a line, and indents the other lines of the value. It shows "?" in place of invisible characters, because a
// person reads this text before approving what the arm asks.
func (p *statusPage) line(name string, value any) {
	p.painted(name, show.Indented(fmt.Sprint(value), nameWidth+1))
}

// painted adds a line whose value can contain Coleo's own colours.
func (p *statusPage) painted(name, value string) {
	if name != "" {
		name += ":"
	}
	fmt.Fprintf(p, "%-*s %s\n", nameWidth, name, value)
}

// note adds a line in parentheses about the line above it. It adds nothing if the text is "".
func (p *statusPage) note(text string) {
	if text != "" {
		p.line("", "("+text+")")
	}
}

// addHarness adds lines about the agent CLI, its mode and its model.
func (p *statusPage) addHarness(arm coleo.Arm) {
	p.line("Harness", arm.Harness)
	if version := arm.Runtime.Unjudged; version != "" {
		p.note(fmt.Sprintf("nobody has tested its rules with version %s: 'coleo harness pack' installs newer rules", version))
	}
	if arm.Mode != "" {
		p.line("Mode", arm.Mode)
	}
	p.line("Model", show.OrDash(strings.Trim(arm.Provider+"/"+arm.Model, "/")))
	if f := arm.ModelFallback; f != nil {
		p.note(f.Line())
		if !f.Seen {
			p.painted("", show.Yellow.Paint("('coleo arm model "+arm.Name+" --seen' removes the badge)"))
		}
	}
	if name := coleo.ModelName(arm.Provider, arm.Model); arm.DefaultModel != "" && arm.DefaultModel != name {
		p.line("Default model", arm.DefaultModel)
	}
}

// addPlace adds lines about where the arm works: its folder, sandbox and host.
func (p *statusPage) addPlace(arm coleo.Arm) {
	p.line("Workdir", arm.Workdir)
	if w := arm.SpawnConfig().Worktree; w != nil && w.Path != "" {
		kind := ""
		if w.Clone {
			kind = "a clone, "
		}
		from := strings.Join(append([]string{w.From}, w.With...), " and ")
		p.line("Worktree", fmt.Sprintf("%sbranch %s, made for %s", kind, w.Branch, from))
	}
	if s := arm.SpawnConfig().Sandbox; s.On() {
		p.line("Sandbox", s)
		if s.LimitedBy != "" {
			p.line("Limits by", s.LimitedBy)
		}
	}
	p.line("Host", show.OrDash(arm.Host))
	if arm.Runtime.Local {
		p.note(coleo.LocalNote)
	}
}

// addStart adds lines about what belongs to the arm's newest start, such as its process and its session.
func (p *statusPage) addStart(arm coleo.Arm) {
	if arm.PID > 0 {
		p.line("Process", arm.PID)
	}
	p.line("Session", show.OrDash(arm.SessionID))
	if from := arm.SpawnConfig().ForkedFrom; from != nil {
		p.line("Forked from", from)
	}
	if len(arm.Labels) > 0 {
		p.line("Labels", arm.Labels)
	}
	p.line("Generation", arm.Generation)
	if arm.Window != nil {
		p.line("Window", strings.TrimPrefix(terminal.WindowLine(arm), "Window: "))
	}
	if names := envNames(arm); len(names) > 0 {
		p.line("Environment", strings.Join(names, ", "))
	}
}

func (p *statusPage) addQueue(arm string, q *coleo.QueueState) {
	p.line("Queue", fmt.Sprintf("%d queued", q.Length))
	if q.Sending != "" {
		p.note("the prompt " + q.Sending + " is being sent")
	}
	if q.Parked != nil {
		p.line("Parked", q.Parked.Line())
		note := fmt.Sprintf("since %s, try %d", q.Parked.Seen.Local().Format(time.DateTime), q.Parked.Try)
		if q.Parked.Kind != coleo.LimitBudget { // the line of a budget already names the command that continues the arm
			note += fmt.Sprintf("; 'coleo arm unpark %s' continues it now", arm)
		}
		p.note(note)
	}
	if q.Paused != "" {
		p.note("paused: " + q.Paused)
	}
	if q.Held != "" {
		p.note("the first was not sent: " + q.Held)
	}
}

func (p *statusPage) addDialog(arm string, d *coleo.Dialog) {
	p.line("Asks", d.Title)
	p.line("Subject", strings.ReplaceAll(d.Subject, "\n", " ⏎ "))
	if d.Truncated {
		p.line("", show.CutOff)
	}
	p.line("Dialog", string(d.Kind)+" "+string(d.Fingerprint))
	p.line("Options", numbered(d.Choices()))
	if d.Several {
		p.note("several may be ticked: coleo arm answer " + arm + " 1,2")
	}
	if d.Pages > 1 && d.Page > 0 {
		p.line("Question", fmt.Sprintf("%d of %d", d.Page, d.Pages))
	}
}

// addRuntime adds lines about the arm's health and the facts behind it.
func (p *statusPage) addRuntime(r coleo.Runtime) {
	p.WriteString("Runtime summary:\n")
	p.line("  State", r.State)
	p.line("  Reason", r.Reason)
	p.line("  Last output", agoText(r.SecondsSinceOutput))
	p.line("  Last heartbeat", agoText(r.SecondsSinceHeartbeat))
	p.line("  Last activity", agoText(r.SecondsSinceActivity))
	p.line("  Can recover", yesOrNo(r.CanRecover))
	g := r.Signals
	fmt.Fprintf(p, "Signals: status %s, pid %s, port %s, session %s, agent %s, workdir %s, task %s", g.DBStatus,
		yesOrNo(g.HasPID), yesOrNo(g.HasPort), yesOrNo(g.HasSessionID), yesOrNo(g.HasAgentID), yesOrNo(g.HasWorkdir),
		yesOrNo(g.HasAssignedTask))
}

func agoText(seconds *int) string {
	if seconds == nil {
		return "n/a"
	}
	return coleo.Age(time.Duration(*seconds)*time.Second) + " ago"
}

func yesOrNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// numbered returns the options in one line. Before each option is the number that 'coleo arm answer'
// accepts.
func numbered(options []string) string {
	out := make([]string, len(options))
	for i, option := range options {
		out[i] = fmt.Sprintf("%d %s", i+1, option)
	}
	return strings.Join(out, " | ")
}
