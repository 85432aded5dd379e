// Package fanout contains the command coleo fan-out, which gives one task to several arms. Each arm
// works in its own git worktree. A fan-out is not stored anywhere: only the labels of the arms show
// to which fan-out they belong.
package fanout

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/api/apiclient"
	"coleo.dev/cmd/coleo/arm"
	"coleo.dev/cmd/coleo/model"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/show"
	"coleo.dev/cmd/coleo/template"
	"coleo.dev/cmd/coleo/verb"
	"coleo.dev/cmd/coleo/worktrees"
	"coleo.dev/wire"
)

const (
	// label is the key of the label that all arms of a fan-out have. Its value is the id of the
	// fan-out.
	label = "fanout"
	// usualArms is the number of arms if the user gives neither -n nor --harness.
	usualArms = 3
	// mostArms is the largest number of arms in one fan-out. It is small, because a person must compare their
	// work.
	mostArms = 20
	// atOnce is how many arms are started at the same time: see bulkAtOnce in cmd/coleo/arm.
	atOnce = 4
	// idLength is the length of a fan-out's id, in letters and digits. A thousand ids of this
	// length are all different with a probability of 0.9995.
	idLength = 6
)

const help = `Give the same task to several arms, each in a git worktree of its own. All worktrees
begin at the same commit: the commit that is checked out in the folder, or --base.
They do not contain uncommitted files.

--harness names the harnesses, separated by commas. -n is the number of arms (default:
one for each harness). The arms have the label fanout=ID, and names with the ID and
the harness. TASK goes into the queue of each arm. If TASK is -, it is read from
standard input. With --template, the template's prompt is the task if TASK is left
out.

If some arms cannot be started, the others still work. The output names the arms that
were not started, and the reason. 'coleo fan-out show ID' compares the arms, and
'coleo fan-out keep ID ARM' keeps one.`

// flags contains the flags of fan-out.
type flags struct {
	q         wire.SpawnRequest
	count     int
	harnesses []string
	labels    []string
	base      string
	template  template.Flags
	wait      bool
	timeout   time.Duration
}

// Command returns the verb "fan-out".
func Command() *cobra.Command {
	var f flags
	c := &cobra.Command{
		Use:   "fan-out [TASK]",
		Short: "Give one task to several arms, and compare what they do",
		Long:  help,
		Example: `  coleo fan-out --harness HARNESS,HARNESS "make the parser faster"
  coleo fan-out -n 3 --template fix --arg issue="the parser drops the last line"
  coleo fan-out show ID
  coleo fan-out keep ID ARM`,
		Args: verb.AtMost(1, "a task, in quotes"),
		RunE: func(c *cobra.Command, args []string) error { return f.run(c, strings.Join(args, "")) },
	}
	c.Flags().IntVarP(&f.count, "number", "n", 0, "`NUMBER` of arms (default: one for each harness, or 3)")
	c.Flags().StringSliceVar(&f.harnesses, "harness", nil, "`NAMES` of the harnesses, separated by commas")
	c.Flags().StringVar(&f.q.Model, "model", "", "`MODEL`, PROVIDER/MODEL, or scripted, for all arms")
	c.Flags().StringVar((*string)(&f.q.PermissionMode), "permission-mode", "", "`MODE`: ask (default), edit, plan or all")
	verb.SandboxAgreementFlags(c, &f.q.YesWithoutSandbox, &f.q.Untested)
	c.Flags().StringVarP(&f.q.Workdir, "workdir", "w", ".", "`FOLDER` in the repository")
	c.Flags().StringVar(&f.base, "base", "", "`COMMIT` or branch where the worktrees begin")
	c.Flags().StringSliceVar(&f.labels, "label", nil, "another label of the arms, as `KEY=VALUE`; repeatable")
	c.Flags().BoolVar(&f.q.TrustWorkdir, "trust-workdir", false, "tell the agent CLIs that you trust the worktrees")
	f.template.AddFlags(c)
	waitFlags(c, &f.wait, &f.timeout)
	c.AddCommand(newShowCommand(), newListCommand(), newKeepCommand())
	return c
}

func waitFlags(c *cobra.Command, wait *bool, timeout *time.Duration) {
	c.Flags().BoolVar(wait, "wait", false, "wait until each arm has done its task or needs you")
	c.Flags().DurationVar(timeout, "timeout", time.Hour, "with --wait: maximum wait")
}

// armStart is the result of the start of one arm.
type armStart struct {
	Arm     string       `json:"arm"`
	Harness string       `json:"harness,omitempty"`
	Started bool         `json:"started"`
	Unknown bool         `json:"unknown,omitempty"` // whether it is unknown if the arm was started
	Run     string       `json:"run,omitempty"`     // the id of the task's run; "" if the arm has not received the task
	Error   *coleo.Error `json:"error,omitempty"`
}

// begun is the JSON output of fan-out.
type begun struct {
	ID    string     `json:"fanout"`
	Base  string     `json:"base"` // the commit at which the worktrees begin
	Arms  []armStart `json:"arms"`
	Table []row      `json:"table,omitempty"` // only with --wait
}

func (f *flags) run(c *cobra.Command, task string) error {
	client, out, err := f.begin(c, task)
	if err != nil {
		return err
	}
	if !verb.WantsJSON(c) {
		if err := printStarted(c, out); err != nil {
			return err
		}
	}
	if f.wait && slices.ContainsFunc(out.Arms, func(s armStart) bool { return s.Started || s.Unknown }) {
		out.Table, err = waitAll(c, client, out.ID, runsOf(out.Arms), f.timeout)
		if err == nil && !verb.WantsJSON(c) {
			err = printTable(c, out.Table)
		}
	}
	if verb.WantsJSON(c) {
		err = errors.Join(err, verb.PrintJSON(c, out))
	}
	if code := exitCode(out.Arms); err == nil && code != 0 {
		err = verb.Exit(code)
	}
	return err
}

// begin first checks everything, and then starts the arms.
func (f *flags) begin(c *cobra.Command, task string) (*apiclient.Client, begun, error) {
	out := begun{ID: strings.ToLower(rand.Text()[:idLength])}
	s, err := setup.New()
	if err != nil {
		return nil, out, err
	}
	if err := f.prepare(c, task); err != nil {
		return nil, out, err
	}
	if out.Base, err = worktrees.Of(s).Commit(c.Context(), f.q.Workdir, f.base); err != nil {
		return nil, out, err
	}
	client, err := arm.StartedClient(c, s, false)
	if err != nil {
		return nil, out, err
	}
	if err := f.checkHarnesses(c, client, s.Arms.Harness); err != nil {
		return nil, out, err
	}
	if !verb.WantsJSON(c) {
		fmt.Fprintf(c.OutOrStdout(), "Fan-out %s of commit %.12s\n", out.ID, out.Base)
	}
	started := show.Waiting(c, func(context.Context) string {
		return "starting " + verb.Counted(f.count, "arm")
	})
	out.Arms = f.startAll(c.Context(), client, out.ID, out.Base)
	started()
	return client, out, nil
}

// prepare checks the flags and completes the request that all arms share.
func (f *flags) prepare(c *cobra.Command, task string) error {
	var err error
	if c.Flags().Changed("number") && f.count < 1 {
		return coleo.Errorf(coleo.EInvalid, "-n %d: a fan-out has at least 1 arm; nothing was started", f.count)
	}
	if f.q.Workdir, err = filepath.Abs(f.q.Workdir); err != nil {
		return err
	}
	if task == "-" {
		raw, err := io.ReadAll(c.InOrStdin())
		if err != nil {
			return fmt.Errorf("read the task: %w", err)
		}
		task = string(raw)
	}
	f.q.InitialPrompt = task
	if f.q.Labels, err = coleo.ParseLabels(f.labels); err != nil {
		return err
	}
	if err := f.template.Fill(c, &f.q); err != nil {
		return err
	}
	if f.q.Worktree != nil {
		if len(f.q.Worktree.With) > 0 {
			return coleo.Errorf(coleo.EUnsupported, "the template gives each arm several repositories (with), and a fan-out "+
				"compares the work in one: take \"with\" out of the template, or use 'coleo arm spawn'; nothing was started")
		}
		f.base = cmp.Or(f.base, f.q.Worktree.Base)
	}
	if strings.TrimSpace(f.q.InitialPrompt) == "" {
		return coleo.Errorf(coleo.EInvalid, "%s needs a task, or a template with a prompt: nothing was started",
			c.CommandPath())
	}
	if _, taken := f.q.Labels[label]; taken {
		return coleo.Errorf(coleo.EInvalid, "Coleo sets the label %s itself: leave it out; nothing was started", label)
	}
	if f.q.Model == coleo.ModelScripted && f.q.Provider == "" {
		if err := model.CheckScripted(c.Context()); err != nil {
			return err
		}
	}
	return f.countArms()
}

// countArms sets the number of arms, and the harness if only the template names one. It returns
// EInvalid if the number is too small or too large.
func (f *flags) countArms() error {
	if len(f.harnesses) == 0 && f.q.Harness != "" {
		f.harnesses = []string{f.q.Harness}
		f.count = cmp.Or(f.count, usualArms)
	}
	if f.count == 0 {
		f.count = cmp.Or(len(f.harnesses), usualArms)
	}
	if least := max(1, len(f.harnesses)); f.count < least || f.count > mostArms {
		return coleo.Errorf(coleo.EInvalid, "-n %d: this fan-out has at least %s (one for each harness), and at most %d; "+
			"nothing was started", f.count, verb.Counted(least, "arm"), mostArms)
	}
	return nil
}

// checkHarnesses returns EInvalid if a harness does not exist. It also prints which files Coleo
// will edit so that agent CLIs trust the worktrees.
func (f *flags) checkHarnesses(c *cobra.Command, client *apiclient.Client, usual string) error {
	list, err := client.Harnesses(c.Context())
	if err != nil {
		return err
	}
	for i, name := range f.harnesses {
		if !slices.ContainsFunc(list, func(info coleo.Info) bool { return info.Name == name }) {
			return coleo.Errorf(coleo.EInvalid, "there is no harness %q%s: 'coleo harness list' lists them; nothing was started",
				name, setup.NearHarness(list, name))
		}
		if slices.Contains(f.harnesses[:i], name) {
			return coleo.Errorf(coleo.EInvalid,
				"the harness %s is named twice: -n says how many arms there are; nothing was started", name)
		}
	}
	if !f.q.TrustWorkdir {
		return nil
	}
	names := f.harnesses
	if len(names) == 0 {
		names = []string{usual}
	}
	q := f.q
	q.Worktree = &wire.Worktree{}
	for _, q.Harness = range names {
		if err := arm.SayTrust(c, client, q, usual); err != nil {
			return err
		}
	}
	return nil
}

// runsOf maps the names of the arms to the ids of the task's runs.
func runsOf(list []armStart) map[string]string {
	out := map[string]string{}
	for _, s := range list {
		if s.Run != "" {
			out[s.Arm] = s.Run
		}
	}
	return out
}

// exitCode returns 0 if all arms have received the task. Otherwise it returns the exit code of the
// failures, or 1 if they have different codes.
func exitCode(list []armStart) int {
	code := 0
	for _, s := range list {
		if s.Error == nil {
			continue
		}
		one := verb.ExitCode(s.Error.Code)
		if code != 0 && code != one {
			return 1
		}
		code = one
	}
	return code
}

func printStarted(c *cobra.Command, out begun) error {
	w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ARM\tSTARTED\tTASK")
	for _, s := range out.Arms {
		word, task := "no", "-"
		switch {
		case s.Run != "":
			word, task = "yes", "in its queue"
		case s.Started:
			word, task = "yes", "not given: "+oneLine(s.Error)
		case s.Unknown:
			word, task = "unknown", oneLine(s.Error)
		case s.Error != nil:
			task = oneLine(s.Error)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", s.Arm, word, task)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if !slices.ContainsFunc(out.Arms, func(s armStart) bool { return s.Started || s.Run != "" || s.Unknown }) {
		return nil
	}
	_, err := fmt.Fprintf(c.OutOrStdout(), "Compare them with: coleo fan-out show %s\n", out.ID)
	return err
}

func oneLine(err error) string {
	return verb.Shown(strings.Join(strings.Fields(err.Error()), " "))
}
