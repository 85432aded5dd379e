package arm

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/api/apiclient"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/show"
	"coleo.dev/cmd/coleo/verb"
	"coleo.dev/cmd/coleo/worktrees"
	"coleo.dev/printable"
	"coleo.dev/workspace/pull"
)

// listFlags contains the flags of arm list.
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
		RunE: setup.WithClient(func(c *cobra.Command, client *apiclient.Client, _ []string) error {
			pick, err := f.picker()
			if err != nil {
				return err
			}
			table := func(arms []coleo.Arm) string {
				return armTable(pick(arms), f.emptyListText(len(arms) > 0), time.Now())
			}
			if f.watch {
				return watchArms(c, client, table)
			}
			list, err := client.Arms(c.Context(), f.all)
			if err != nil {
				return err
			}
			rows := pick(list)
			if len(rows) == 0 {
				if err := setup.CheckHarnessNames(c.Context(), client, f.harnesses...); err != nil {
					return err
				}
			}
			if verb.WantsJSON(c) {
				return verb.PrintJSON(c, map[string]any{"arms": rows})
			}
			_, err = io.WriteString(show.Writer(c), show.CutLines(table(list), show.Width(c)))
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

// emptyListText returns the line that users see in place of an empty list. haveArms is true if there are arms,
// although none of them is in the list.
func (f listFlags) emptyListText(haveArms bool) string {
	switch {
	case !haveArms:
		return "No arms registered.\n"
	case len(f.states)+len(f.harnesses)+len(f.selectors) > 0:
		return "No arm matches.\n"
	}
	return "No active arms.\n"
}

// armTable returns a table of the given arms, for users. If there are no arms, it returns the
// second parameter.
func armTable(rows []coleo.Arm, nothing string, now time.Time) string {
	if len(rows) == 0 {
		return nothing
	}
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	labelled := slices.ContainsFunc(rows, func(arm coleo.Arm) bool { return len(arm.Labels) > 0 })
	boxed := slices.ContainsFunc(rows, func(arm coleo.Arm) bool { return arm.SpawnConfig().Sandbox.On() })
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
			show.OrDash(at.branch), last(arm.SpawnConfig().Sandbox.String(), show.OrDash(arm.Labels.String())))
	}
	_ = w.Flush() // ignore the error, because writing to memory never fails
	return table.String()
}

// modelWord returns the arm's model. If Coleo has replaced the model that the user requested, modelWord
// also names the requested model, until the user confirms the change.
func modelWord(arm coleo.Arm) string {
	model := show.OrDash(arm.Model)
	if f := arm.ModelFallback; f != nil && !f.Seen {
		model += " (not " + f.Asked.Model + ")"
	}
	return model
}

// nameWord returns the arm's name, with a note if the arm is a subarm or a successor.
func nameWord(arm coleo.Arm) string {
	switch {
	case arm.ParentArmID == "":
		return arm.Name
	case arm.SpawnConfig().Succeeds != nil:
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
	why = strings.Join(strings.Fields(printable.Marked(why)), " ")
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

// asOf returns a note about the arm's state, or "" if there is nothing to note. The first case that applies
// determines the note:
//   - No host agent watches the arm: how old the state is or, if that is unknown, that nobody watches the arm.
//   - A signal has stopped the agent CLI: that it is stopped.
//   - The arm runs without a host agent: that it has none.
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

// place is an arm's work folder, in the short form that users see.
type place struct {
	// the work folder; in a repository, its path begins with the repository's own folder, and elsewhere it is
	// the whole path
	folder string
	branch string // the branch in the work folder; "" outside of a repository
}

// placeOf returns the repository and the branch to which the folder `dir` belongs. It reads two small files
// instead of running git, because git would follow the repository's configuration, which an arm may have
// changed.
func placeOf(dir string) place {
	for root := dir; ; root = filepath.Dir(root) {
		head, ok := headOf(filepath.Join(root, ".git"))
		if ok {
			return place{folder: strings.TrimPrefix(dir, filepath.Dir(root)+string(filepath.Separator)), branch: head}
		}
		if root == filepath.Dir(root) {
			return place{folder: homeShort(dir)}
		}
	}
}

// maxHead is the largest size of a file that readSmall reads, in bytes. Files that contain the name of a
// branch are always smaller.
const maxHead = 4 << 10

// headOf returns the name of the branch that is checked out. If no branch is checked out, it returns the
// first characters of the commit id. gitPath is the path of .git. In a worktree, .git is a file that
// contains the path of the real git folder.
func headOf(gitPath string) (string, bool) {
	if text, ok := readSmall(gitPath); ok {
		dir, is := strings.CutPrefix(text, "gitdir: ")
		if !is {
			return "", false
		}
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(filepath.Dir(gitPath), dir)
		}
		gitPath = dir
	}
	text, ok := readSmall(filepath.Join(gitPath, "HEAD"))
	if !ok {
		return "", false
	}
	if branch, is := strings.CutPrefix(text, "ref: refs/heads/"); is {
		return printable.Line(branch), true
	}
	const commitShown = 8
	return printable.Line(text[:min(len(text), commitShown)]), true
}

func readSmall(path string) (string, bool) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxHead {
		return "", false
	}
	raw, err := os.ReadFile(path)
	return strings.TrimSpace(string(raw)), err == nil
}

// homeShort replaces the user's home folder at the start of the path `dir` with ~.
func homeShort(dir string) string {
	home, err := os.UserHomeDir()
	if rest, is := strings.CutPrefix(dir, home+string(filepath.Separator)); err == nil && home != "" && is {
		return filepath.Join("~", rest)
	}
	return dir
}

// pullText returns lines about the pull requests of an arm. It returns "" if this machine knows of none.
func pullText(arm string) string {
	s, err := setup.New()
	if err != nil {
		return ""
	}
	ids := []string{arm}
	if all, err := worktrees.Of(s).Group(arm); err == nil && len(all) > 1 {
		for _, w := range all[1:] {
			ids = append(ids, w.ID)
		}
	}
	text := ""
	for _, id := range ids {
		if r, ok, err := pull.Read(s.Workspaces(), id); err == nil && ok && r.Number > 0 {
			text += fmt.Sprintf("\n%-16s %d into %s: %s", "Pull request:", r.Number, printable.Line(r.Base),
				printable.Line(r.URL))
		}
	}
	return text
}
