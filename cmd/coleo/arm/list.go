package arm

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/api"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/show"
	"coleo.dev/cmd/coleo/verb"
)

// listFlags are the flags of arm list.
type listFlags struct {
	all       bool
	states    []string
	harnesses []string
	selectors []string
	sort      string
	watch     bool
}

func newListCommand() *cobra.Command {
	var f listFlags
	c := &cobra.Command{
		Use:   "list",
		Short: "List the arms; those that need you come first",
		Long: `List the arms. Those that need you come first.

--state, --harness and --selector choose arms. Separate several values by commas.
--state takes needs-you, working, parked, idle and ended, and states such as
waiting_approval. --selector takes conditions on labels: KEY=VALUE, KEY!=VALUE, KEY
(the arm has the key) and '!KEY' (it lacks the key). An arm must meet all of them.
--sort age sorts by the time since the last output.`,
		Example: `  coleo arm list --state needs-you,idle
  coleo arm list --all --sort age`,
		Args: verb.Exactly(0, "no arguments"),
		RunE: setup.WithClient(func(c *cobra.Command, client *api.Client, _ []string) error {
			pick, err := f.picker()
			if err != nil {
				return err
			}
			if f.watch {
				return watchArms(c, client, pick)
			}
			list, err := client.Arms(c.Context(), f.all)
			if err != nil {
				return err
			}
			rows := pick(list)
			if verb.WantsJSON(c) {
				return verb.PrintJSON(c, map[string]any{"arms": rows})
			}
			_, err = io.WriteString(show.Writer(c), armTable(rows, len(list) > 0, time.Now()))
			return err
		}),
	}
	c.Flags().BoolVar(&f.all, "all", false, "include ended arms")
	c.Flags().StringSliceVar(&f.states, "state", nil,
		"`STATES`: needs-you, working, parked, idle, ended, or others")
	c.Flags().StringSliceVar(&f.harnesses, "harness", nil, "`NAMES` of harnesses")
	selectorFlag(c, &f.selectors)
	c.Flags().StringVar(&f.sort, "sort", "need", "`ORDER`: need, name, age, cost or harness")
	c.Flags().BoolVar(&f.watch, "watch", false, "follow changes on a terminal, until Ctrl-C")
	return c
}

// armTable returns a table of the given arms, for users. If no arms are given, it returns a
// sentence instead. The sentence depends on haveArms, which is true if there are any arms at all.
func armTable(rows []coleo.Arm, haveArms bool, now time.Time) string {
	switch {
	case len(rows) > 0:
	case haveArms:
		return "No active arms.\n"
	default:
		return "No arms registered.\n"
	}
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	labelled := slices.ContainsFunc(rows, func(arm coleo.Arm) bool { return len(arm.Labels) > 0 })
	boxed := slices.ContainsFunc(rows, func(arm coleo.Arm) bool { return configOf(arm).Sandbox.On() })
	last := func(sandbox, labels string) (end string) {
		if boxed {
			end += "\t" + sandbox
		}
		if labelled {
			end += "\t" + labels
		}
		return end + "\n"
	}
	fmt.Fprintf(w, "NAME\t%s\tOUTPUT\tHARNESS\tMODEL\tCOST\tFOLDER\tBRANCH%s", show.Plain.Paint("STATUS"),
		last("SANDBOX", "LABELS"))
	for _, arm := range rows {
		at := placeOf(arm.Workdir)
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s%s", nameWord(arm),
			needColour(arm).Paint(needWord(arm)+queuedWord(arm.Queue)+asOf(arm, now)),
			show.Since(arm.LastOutputAt, now), arm.Harness, modelWord(arm), costWord(arm.TotalCost), at.folder,
			show.OrDash(at.branch), last(configOf(arm).Sandbox.String(), show.OrDash(arm.Labels.String())))
	}
	_ = w.Flush() // never fails, because w writes to memory
	return table.String()
}

// modelWord returns the arm's model. If the user asked for another model and nobody has seen the
// change yet, modelWord adds a badge.
func modelWord(arm coleo.Arm) string {
	model := show.OrDash(arm.Model)
	if f := arm.ModelFallback; f != nil && !f.Seen {
		model += " (not " + f.Asked.Model + ")"
	}
	return model
}

// nameWord returns the arm's name, and says whether it is a subarm or a successor.
func nameWord(arm coleo.Arm) string {
	switch {
	case arm.ParentArmID == "":
		return arm.Name
	case configOf(arm).Succeeds != nil:
		return arm.Name + " (successor)"
	}
	return arm.Name + " (subarm)"
}

// needWidth is the largest length of a need's reason in the list, in characters. With
// 48, a whole row fits into a terminal of 120 columns.
const needWidth = 48

// needWord returns the text that the list shows for the arm's need.
func needWord(arm coleo.Arm) string {
	need, why := arm.Need()
	if need == coleo.NeedWorking && arm.State == coleo.Initializing {
		return "starting"
	}
	if why == "" {
		return string(need)
	}
	why = strings.Join(strings.Fields(why), " ")
	if letters := []rune(why); len(letters) > needWidth {
		why = string(letters[:needWidth]) + "…"
	}
	return string(need) + ": " + why
}

// queuedWord returns a note about the arm's queue for the list, or "" if there is nothing to note.
func queuedWord(q *coleo.QueueState) string {
	switch {
	case q == nil:
		return ""
	case q.Paused != "":
		return fmt.Sprintf(", %d queued (paused)", q.Length)
	case q.Sending != "":
		return fmt.Sprintf(", %d queued, 1 being sent", q.Length)
	case q.Length == 0:
		return ""
	}
	return fmt.Sprintf(", %d queued", q.Length)
}

func needColour(arm coleo.Arm) show.Colour {
	need, _ := arm.Need()
	switch {
	case need == coleo.NeedsYou && (arm.State == coleo.WaitingApproval || len(arm.Suspensions) > 0):
		return show.Yellow
	case need == coleo.NeedsYou:
		return show.Red
	case need == coleo.NeedWorking:
		return show.Cyan
	case need == coleo.NeedIdle:
		return show.Green
	}
	return show.Plain
}

func costWord(cost float64) string {
	if cost == 0 {
		return "-"
	}
	return fmt.Sprintf("$%.2f", cost)
}

func stateWord(arm coleo.Arm) string {
	if arm.Dialog != nil {
		return "waiting_approval: " + arm.Dialog.Title
	}
	return string(arm.State)
}

// asOf returns a note about the arm's state. The first case that applies determines the note:
//   - No host agent watches the arm. The note is the age of the state. If the age is
//     unknown, the note says that nobody watches the arm.
//   - A signal has stopped the agent CLI. The note says so.
//   - The arm runs without a host agent. The note says so.
//
// In all other cases, asOf returns "".
func asOf(arm coleo.Arm, now time.Time) string {
	switch r := arm.Runtime; {
	case r.Stale && r.AsOf.IsZero():
		return " (nobody watches it)"
	case r.Stale:
		return " (as of " + show.Since(r.AsOf, now) + " ago)"
	case r.Frozen:
		return " (stopped by a signal)"
	case r.Local:
		return " (no host agent)"
	}
	return ""
}

func newStatusCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "status [NAME]",
		Short: "Show everything about one arm",
		Long: `Show everything about one arm: its state, its open dialog, its health and more.

Without a NAME, and on a terminal, this lets you choose an arm.`,
		Args: verb.AtMost(1, "the name of an arm"),
		RunE: setup.WithClient(func(c *cobra.Command, client *api.Client, args []string) error {
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
				arm.ParentArmID = parent.Name // for people
			}
			_, err = fmt.Fprintln(show.Writer(c), statusText(arm, time.Now())+pullText(arm.ID))
			return err
		}),
	}
}

func statusText(arm coleo.Arm, now time.Time) string {
	r := arm.Runtime
	var b strings.Builder
	line := func(name string, value any) { fmt.Fprintf(&b, "%-16s %v\n", name+":", value) }
	line("Arm", arm.Name)
	if by := configOf(arm).Succeeds; by != nil {
		line("Successor of", by)
	} else if arm.ParentArmID != "" {
		line("Subarm of", arm.ParentArmID)
	}
	line("Status", arm.Status)
	line("State", fmt.Sprintf("%s (rule %s)%s", show.StateColour(arm.State).Paint(string(arm.State)),
		show.OrDash(arm.Rule), asOf(arm, now)))
	line("Harness", arm.Harness)
	if r.Unjudged != "" {
		line("", fmt.Sprintf("(nobody has judged its rules on version %s: 'coleo harness pack' brings newer ones)",
			r.Unjudged))
	}
	if arm.Mode != "" {
		line("Mode", arm.Mode)
	}
	line("Model", show.OrDash(strings.Trim(arm.Provider+"/"+arm.Model, "/")))
	if f := arm.ModelFallback; f != nil {
		line("", "("+f.Line()+")")
		if !f.Seen {
			line("", show.Yellow.Paint("('coleo arm model "+arm.Name+" --seen' removes the badge)"))
		}
	}
	if name := coleo.ModelName(arm.Provider, arm.Model); arm.DefaultModel != "" && arm.DefaultModel != name {
		line("Default model", arm.DefaultModel)
	}
	line("Workdir", arm.Workdir)
	if w := configOf(arm).Worktree; w != nil && w.Path != "" {
		line("Worktree", fmt.Sprintf("branch %s, made for %s", w.Branch, w.From))
	}
	if s := configOf(arm).Sandbox; s.On() {
		line("Sandbox", s)
		if s.LimitedBy != "" {
			line("Limits by", s.LimitedBy)
		}
	}
	line("Host", show.OrDash(arm.Host))
	if r.Local {
		line("", "("+coleo.LocalNote+")")
	}
	line("Process", arm.PID)
	line("Session", show.OrDash(arm.SessionID))
	if from := configOf(arm).ForkedFrom; from != nil {
		line("Forked from", from)
	}
	if len(arm.Labels) > 0 {
		line("Labels", arm.Labels)
	}
	line("Generation", arm.Generation)
	if arm.Window != nil {
		line("Window", strings.TrimPrefix(windowLine(arm), "Window: "))
	}
	if names := envNames(arm); len(names) > 0 {
		line("Environment", strings.Join(names, ", "))
	}
	if c := arm.Budget; c != nil {
		line("Budget", c.Line())
		if c.Why != "" {
			line("", "("+c.Why+")")
		}
	}
	if q := arm.Queue; q != nil {
		line("Queue", fmt.Sprintf("%d queued", q.Length))
		if q.Sending != "" {
			line("", "(the prompt "+q.Sending+" is being sent)")
		}
		if q.Parked != nil {
			line("Parked", q.Parked.Line())
			line("", fmt.Sprintf("(since %s, try %d; 'coleo arm unpark %s' goes on now)",
				q.Parked.Seen.Local().Format(time.DateTime), q.Parked.Try, arm.Name))
		}
		if q.Paused != "" {
			line("", "(paused: "+q.Paused+")")
		}
		if q.Held != "" {
			line("", "(the first was not sent: "+q.Held+")")
		}
	}
	if arm.Dialog != nil {
		line("Asks", arm.Dialog.Title)
		line("Subject", strings.ReplaceAll(arm.Dialog.Subject, "\n", " ⏎ "))
		if arm.Dialog.Truncated {
			line("", show.CutOff)
		}
		line("Dialog", arm.Dialog.Fingerprint)
		line("Options", numbered(arm.Dialog.Choices()))
		if arm.Dialog.Several {
			line("", "(several may be ticked: coleo arm answer "+arm.Name+" 1,2)")
		}
		if arm.Dialog.Pages > 1 && arm.Dialog.Page > 0 {
			line("Question", fmt.Sprintf("%d of %d", arm.Dialog.Page, arm.Dialog.Pages))
		}
	}
	for _, s := range arm.Suspensions {
		line("Asks", s.Line())
		line("Question", s.ID)
		if len(s.Options) > 0 {
			line("Options", numbered(s.Options))
		}
	}
	b.WriteString("Runtime summary:\n")
	line("  State", r.State)
	line("  Reason", r.Reason)
	line("  Last output", ago(r.SecondsSinceOutput))
	line("  Last heartbeat", ago(r.SecondsSinceHeartbeat))
	line("  Last activity", ago(r.SecondsSinceActivity))
	line("  Can recover", yesOrNo(r.CanRecover))
	g := r.Signals
	fmt.Fprintf(&b, "Signals: status %s, pid %s, port %s, session %s, agent %s, workdir %s, task %s", g.DBStatus,
		yesOrNo(g.HasPID), yesOrNo(g.HasPort), yesOrNo(g.HasSessionID), yesOrNo(g.HasAgentID), yesOrNo(g.HasWorkdir),
		yesOrNo(g.HasAssignedTask))
	return b.String()
}

func ago(seconds *int) string {
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

// numbered returns the options in one line. Before each option stands the number that 'coleo arm
// answer' accepts.
func numbered(options []string) string {
	out := make([]string, len(options))
	for i, option := range options {
		out[i] = fmt.Sprintf("%d %s", i+1, option)
	}
	return strings.Join(out, " | ")
}
