package fanout

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/api/apiclient"
	"coleo.dev/changes"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/show"
	"coleo.dev/cmd/coleo/verb"
	"coleo.dev/cost"
	"coleo.dev/wire"
)

// This file contains the verbs fan-out list and fan-out show, and the table that compares the arms.

const (
	// lookEvery is the time between two checks of the arms. A person does not notice this delay,
	// and a check takes much less time.
	lookEvery = time.Second
	// taskWindow is how long after the creation of an arm isSettled waits for the arm's first run. While the
	// task's prompt is being typed, the prompt is no longer in the queue, and its run has not begun. Typing takes
	// up to 90 s.
	taskWindow = 2 * time.Minute
	// awayWindow is how long isSettled waits for a host agent that is away. After 'coleo up', a host agent needs some
	// seconds until it has confirmed its arms.
	awayWindow = 30 * time.Second
)

// row contains the values of one arm that the table compares.
type row struct {
	Arm      string        `json:"arm"`
	ID       string        `json:"id"`
	Harness  string        `json:"harness"`
	Model    string        `json:"model,omitempty"` // the model, as PROVIDER/MODEL; "" if the agent CLI chooses it
	State    coleo.State   `json:"state"`
	Need     coleo.Need    `json:"need"`
	Why      string        `json:"why,omitempty"` // the reason for Need
	Branch   string        `json:"branch,omitempty"`
	Worktree string        `json:"worktree,omitempty"` // path of the worktree
	Changed  *changeTotals `json:"changes,omitempty"`  // the changes of the arm; nil if they are unknown
	// ChangesError is the reason why Changed is unknown.
	ChangesError string      `json:"changes_error,omitempty"`
	Cost         cost.Amount `json:"cost"`
	Seconds      float64     `json:"seconds"` // total duration of all runs
	Runs         int         `json:"runs"`
	Outcome      string      `json:"outcome,omitempty"` // outcome of the newest run; "open" while it runs
}

// changeTotals describes the changes that an arm has made since its start.
type changeTotals struct {
	Files        int    `json:"files"`
	LinesAdded   int    `json:"lines_added"`
	LinesDeleted int    `json:"lines_deleted"`
	Cut          string `json:"cut,omitempty"` // a note that some changes were not counted; "" if all were counted
}

// membersOf returns the arms of a fan-out: all arms with its label. Subarms have the label too, but
// only work for their parent. The first result omits the subarms, and is sorted by name. The second
// result contains all arms. If there are no arms, membersOf returns ENotFound.
func membersOf(ctx context.Context, client *apiclient.Client, id string) (heads, all []coleo.Arm, err error) {
	list, err := client.Arms(ctx, true)
	if err != nil {
		return nil, nil, err
	}
	for _, arm := range list {
		if arm.Labels[label] == id {
			all = append(all, arm)
		}
	}
	heads = headsOf(all)
	if len(heads) == 0 {
		return nil, nil, coleo.Errorf(coleo.ENotFound,
			"no arm has the label %s=%s: 'coleo fan-out list' lists the fan-outs", label, id)
	}
	slices.SortFunc(heads, func(a, b coleo.Arm) int { return strings.Compare(a.Name, b.Name) })
	return heads, all, nil
}

// headsOf returns the arms of fan-outs without their subarms. The successor of an arm is not a subarm: it has
// received the task of the fan-out.
func headsOf(arms []coleo.Arm) (heads []coleo.Arm) {
	byID := map[string]coleo.Arm{}
	for _, arm := range arms {
		byID[arm.ID] = arm
	}
	for _, arm := range arms {
		first := arm // the first arm in a line of successors
		for range arms {
			before, known := byID[first.ParentArmID]
			if !known || first.SpawnConfig().Succeeds == nil {
				break
			}
			first = before
		}
		if arm.Labels[label] != "" && (first.ParentArmID == "" || first.SpawnConfig().Succeeds != nil) {
			heads = append(heads, arm)
		}
	}
	return heads
}

// worktreeOf returns the git worktree that Coleo has made for the arm. It returns nil if there is
// none.
func worktreeOf(arm coleo.Arm) *coleo.Worktree { return arm.SpawnConfig().Worktree }

func newListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the fan-outs that have arms",
		Args:  verb.Exactly(0, "no arguments"),
		RunE: setup.WithClient(func(c *cobra.Command, client *apiclient.Client, _ []string) error {
			list, err := client.Arms(c.Context(), true)
			if err != nil {
				return err
			}
			found, ids := map[string][]string{}, []string{}
			for _, arm := range headsOf(list) {
				id := arm.Labels[label]
				if found[id] == nil {
					ids = append(ids, id)
				}
				found[id] = append(found[id], arm.Name)
			}
			slices.Sort(ids)
			lines := []string{}
			for _, id := range ids {
				slices.Sort(found[id])
				lines = append(lines, id+"  "+strings.Join(found[id], ", "))
			}
			if len(lines) == 0 {
				lines = []string{"No arm belongs to a fan-out."}
			}
			return verb.Say(c, strings.Join(lines, "\n"), map[string]any{"fanouts": found})
		}),
	}
}

func newShowCommand() *cobra.Command {
	wait, timeout := false, time.Duration(0)
	c := &cobra.Command{
		Use:   "show ID",
		Short: "Compare the arms of a fan-out",
		Long: `Compare the arms of a fan-out: their state, the files and lines that they have
changed, their cost, and the time of their runs. A cost is unknown if the agent CLI
does not report its tokens, or if the model has no price. '+?' means that some tokens
have no price.`,
		Args: verb.Exactly(1, "the id of a fan-out"),
		RunE: setup.WithClient(func(c *cobra.Command, client *apiclient.Client, args []string) error {
			var rows []row
			var err error
			if wait {
				rows, err = waitAll(c, client, args[0], nil, timeout)
			} else {
				rows, err = table(c.Context(), client, args[0])
			}
			if err != nil {
				return err
			}
			if verb.WantsJSON(c) {
				return verb.PrintJSON(c, map[string]any{"fanout": args[0], "arms": rows})
			}
			return printTable(c, rows)
		}),
	}
	waitFlags(c, &wait, &timeout)
	return c
}

// waitAll waits until each arm of a fan-out has done its task or needs a person, and returns the
// table. runByArm maps names of arms to ids of the task's runs, as far as the caller knows these
// ids. waitAll returns ETimeout after the limit.
func waitAll(c *cobra.Command, client *apiclient.Client, id string, runByArm map[string]string,
	limit time.Duration) ([]row, error) {
	ctx := c.Context()
	var working atomic.Pointer[string] // a line about the arms that are still working
	first := "fan-out " + id
	working.Store(&first)
	defer show.Waiting(c, func(context.Context) string { return *working.Load() })()
	end := time.NewTimer(limit)
	defer end.Stop()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		heads, _, err := membersOf(ctx, client, id)
		if err != nil {
			return nil, err
		}
		var busy []string
		for _, arm := range heads {
			newest, _, err := client.Runs(ctx, wire.RunFilter{Arm: arm.ID, Limit: 1})
			if coleo.ErrorCode(err) == coleo.ENotFound {
				continue // the arm was removed meanwhile
			}
			if err != nil {
				return nil, err
			}
			if !isSettled(arm, newest, runByArm[arm.Name], time.Now()) {
				busy = append(busy, arm.Name)
			}
		}
		if len(busy) == 0 {
			return table(ctx, client, id)
		}
		line := fmt.Sprintf("%d of %s at work: %s", len(busy), verb.Counted(len(heads), "arm"), strings.Join(busy, ", "))
		working.Store(&line)
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-end.C:
			return nil, coleo.Errorf(coleo.ETimeout,
				"after %s these arms still work: %s; they continue", limit, strings.Join(busy, ", "))
		case <-tick.C:
		}
	}
}

// isSettled reports whether an arm has done its task or needs a person. newestRun contains the arm's newest
// run, or nothing if the arm has no run. taskRun is the id of the task's run, or "" if the caller does not know
// it.
func isSettled(arm coleo.Arm, newestRun []coleo.Run, taskRun string, now time.Time) bool {
	need, _ := arm.Need()
	switch {
	case arm.Runtime.Stale && now.Sub(arm.Runtime.AsOf) < awayWindow:
		return false
	case need == coleo.NeedsYou || need == coleo.NeedEnded:
		return true
	case need != coleo.NeedIdle || arm.Queue != nil && arm.Queue.Length > 0:
		return false
	case len(newestRun) > 0:
		return !newestRun[0].Open
	}
	return taskRun == "" && now.Sub(arm.CreatedAt) > taskWindow
}

// table returns the rows of a fan-out.
func table(ctx context.Context, client *apiclient.Client, id string) ([]row, error) {
	heads, _, err := membersOf(ctx, client, id)
	if err != nil {
		return nil, err
	}
	out := make([]row, 0, len(heads))
	for _, arm := range heads {
		r, err := rowOf(ctx, client, arm)
		if coleo.ErrorCode(err) == coleo.ENotFound {
			continue // the arm was removed meanwhile
		}
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

func rowOf(ctx context.Context, client *apiclient.Client, arm coleo.Arm) (row, error) {
	r := row{Arm: arm.Name, ID: arm.ID, Harness: arm.Harness, State: arm.State,
		Model: coleo.ModelName(arm.Provider, arm.Model)}
	r.Need, r.Why = arm.Need()
	if w := worktreeOf(arm); w != nil {
		r.Branch, r.Worktree = w.Branch, w.Path
	}
	d, err := client.Diff(ctx, arm.ID, changes.DiffRequest{Stat: true}, false)
	if err == nil {
		r.Changed = &changeTotals{Files: len(d.Files), Cut: d.Cut}
		r.Changed.LinesAdded, r.Changed.LinesDeleted = changes.Sum(d.Files)
		if r.Changed.Cut == "" && len(d.Left) > 0 {
			r.Changed.Cut = fmt.Sprintf("%d files are left out, which 'coleo arm diff %s' names", len(d.Left), arm.Name)
		}
	} else {
		r.ChangesError = oneLine(err)
	}
	report, err := client.Cost(ctx, arm.ID, []cost.Key{cost.ByArm}, time.Time{})
	if err != nil {
		return r, err
	}
	r.Cost = report.Total
	return r, r.addRuns(ctx, client)
}

// addRuns adds the data from the arm's runs to the row.
func (r *row) addRuns(ctx context.Context, client *apiclient.Client) error {
	for f := (wire.RunFilter{Arm: r.ID}); ; {
		page, next, err := client.Runs(ctx, f)
		if err != nil {
			return err
		}
		for _, run := range page {
			if r.Runs == 0 {
				r.Outcome = string(run.Outcome)
				if run.Open {
					r.Outcome = string(coleo.OutcomeOpen)
				}
			}
			r.Runs++
			end := run.Ended
			if run.Open {
				end = time.Now()
			}
			if !run.Started.IsZero() && end.After(run.Started) {
				r.Seconds += end.Sub(run.Started).Seconds()
			}
		}
		if len(page) == 0 || next == "" {
			return nil
		}
		f.Before = next
	}
}

func printTable(c *cobra.Command, rows []row) error {
	w := show.NewTable(c)
	fmt.Fprintln(w, "ARM\tHARNESS\tMODEL\tSTATE\tFILES\tLINES\tCOST\tTIME")
	for _, r := range rows {
		files, lines := "?", "?"
		if r.Changed != nil {
			files, lines = fmt.Sprint(r.Changed.Files), fmt.Sprintf("+%d -%d", r.Changed.LinesAdded, r.Changed.LinesDeleted)
			if r.Changed.Cut != "" {
				files += "+?"
			}
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.Arm, r.Harness, dash(r.Model), r.stateWord(), files, lines,
			costWord(r.Cost), time.Duration(r.Seconds*float64(time.Second)).Round(time.Second))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, r := range rows {
		why := r.ChangesError
		if r.Changed != nil {
			why = r.Changed.Cut
		}
		if why != "" {
			c.PrintErrf("coleo: note: the changes of %s are not complete: %s\n", r.Arm, why)
		}
	}
	return nil
}

// stateWord returns the arm's need. If the arm needs a person, stateWord adds the reason.
func (r row) stateWord() string {
	switch {
	case r.Runs == 0 && r.Need == coleo.NeedIdle:
		return "idle (no task has reached it)"
	case r.Why == "":
		return string(r.Need)
	}
	const most = 40 // the largest length of the reason in characters, so that the table fits a wide terminal
	why := []rune(strings.Join(strings.Fields(r.Why), " "))
	if len(why) > most {
		why = append(why[:most], '…')
	}
	return string(r.Need) + ": " + string(why)
}

// costWord returns a cost for people. It mentions parts whose cost is unknown.
func costWord(a cost.Amount) string {
	switch {
	case a.Calls == 0, a.Unpriced > 0 && a.Dollars == 0:
		return "unknown"
	case a.Unpriced > 0:
		return fmt.Sprintf("$%.4f+?", a.Dollars)
	}
	return fmt.Sprintf("$%.4f", a.Dollars)
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
