// Package queue contains the verbs of coleo arm for an arm's queue. It also contains the verbs that
// send a prompt at once or stop a turn.
package queue

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/api/apiclient"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/show"
	"coleo.dev/cmd/coleo/verb"
)

// Commands returns the verbs of this package, which belong below coleo arm.
func Commands() []*cobra.Command {
	return []*cobra.Command{newFollowUpCommand(), newQueueCommand(), newPauseCommand(), newResumeCommand(),
		newUnparkCommand(), newOnLimitCommand(), newSteerCommand(), newAbortCommand()}
}

const followUpHelp = `Add a prompt to the arm's queue. If TEXT is -, it is read from standard input.

The prompt is sent when the arm is idle, no dialog is open and nobody types by
hand. If all this is true now, it is sent at once. When this returns, the prompt
is on the disk of the arm's host agent. The queue survives a kill of any
process, and the end of the arm. Each prompt is sent once. If nothing proves
that a prompt has arrived, the queue is paused and you decide.

--file adds the path of a file on the arm's machine to the prompt. The file
must exist.`

func newFollowUpCommand() *cobra.Command {
	var files []string
	c := &cobra.Command{
		Use:   "follow-up NAME TEXT...",
		Short: "Queue a prompt that is sent when the arm is idle",
		Long:  followUpHelp,
		Example: `  coleo arm follow-up fix "then run the tests"
  coleo arm queue fix`,
		Args: nameAndText,
		RunE: setup.WithClient(func(c *cobra.Command, client *apiclient.Client, args []string) error {
			return followUp(c, client, args[0], args[1:], files)
		}),
	}
	FileFlag(c, &files)
	return c
}

// FileFlag adds the flag --file, which names files for a prompt.
func FileFlag(c *cobra.Command, files *[]string) {
	c.Flags().StringArrayVar(files, "file", nil,
		"`PATH` of a file on the arm's machine, to name in the prompt; may be repeated")
}

// Paths returns the absolute paths of the given files. A relative path is relative to the current
// folder.
func Paths(files []string) ([]string, error) {
	out := make([]string, 0, len(files))
	for _, f := range files {
		path, err := filepath.Abs(f)
		if err != nil {
			return nil, coleo.Errorf(coleo.EInvalid, "the path of the file %q: %v", f, err)
		}
		out = append(out, path)
	}
	return out, nil
}

func nameAndText(c *cobra.Command, args []string) error {
	if len(args) < 2 {
		return coleo.Errorf(coleo.EInvalid, "%s takes the name of an arm and a text", c.CommandPath())
	}
	return nil
}

// textOf returns the text of a prompt that consists of the given words from the command line. If
// the only word is -, the text comes from standard input.
func textOf(words []string) (string, error) {
	text := strings.Join(words, " ")
	if text != "-" {
		return text, nil
	}
	raw, err := io.ReadAll(os.Stdin)
	if err != nil {
		return "", fmt.Errorf("read the prompt: %w", err)
	}
	return string(raw), nil
}

func followUp(c *cobra.Command, client *apiclient.Client, name string, words, files []string) error {
	text, err := textOf(words)
	if err != nil {
		return err
	}
	if files, err = Paths(files); err != nil {
		return err
	}
	r, err := client.FollowUp(c.Context(), name, text, files)
	if err != nil {
		return err
	}
	line := fmt.Sprintf("Queued for %s: %s (%d queued)", name, r.ID, len(r.Queue.Entries))
	if r.Queue.Paused != "" {
		line += fmt.Sprintf("\nThe queue is paused (%s): 'coleo arm resume %s' continues it.", r.Queue.Paused, name)
	}
	if arm, err := client.Arm(c.Context(), name); err == nil && arm.State == coleo.Dead {
		line += fmt.Sprintf("\nArm %s has ended, so the prompt waits: 'coleo arm recover %s' starts the arm again.",
			name, name)
	}
	return verb.Say(c, line, r)
}

// printReport prints a line and the length of the queue, or the report as JSON.
func printReport(c *cobra.Command, line string, r coleo.QueueReport) error {
	line += fmt.Sprintf(" (%d queued", len(r.Queue.Entries))
	if r.Queue.Paused != "" {
		line += ", paused: " + r.Queue.Paused
	}
	return verb.Say(c, line+")", r)
}

const queueHelp = `List the prompts in the arm's queue, or change the queue.

  list             the prompts in their order; the default
  add TEXT...      the same as 'coleo arm follow-up'
  edit N TEXT...   another text, or with --file other files
  move N PLACE     another place, from 1
  remove N...      remove prompts
  pause [REASON]   send nothing until 'resume'
  resume           send the prompts again

N is the number in the list, or the id of a prompt or its beginning. A prompt
that is just being sent cannot be changed; the exit code is then 11.`

func newQueueCommand() *cobra.Command {
	var files []string
	c := &cobra.Command{
		Use:   "queue NAME [list|add|edit|move|remove|pause|resume]",
		Short: "Show or change the prompts that wait until the arm is idle",
		Long:  queueHelp,
		Example: `  coleo arm queue fix
  coleo arm queue fix edit 2 "run only the unit tests"
  coleo arm queue fix move 3 1`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return coleo.Errorf(coleo.EInvalid, "%s takes the name of an arm (see %s --help)", c.CommandPath(), c.CommandPath())
			}
			return nil
		},
		RunE: setup.WithClient(func(c *cobra.Command, client *apiclient.Client, args []string) error {
			do := "list"
			if len(args) > 1 {
				do = args[1]
			}
			return actOnQueue(c, client, args[0], do, args[min(2, len(args)):], files)
		}),
	}
	FileFlag(c, &files)
	return c
}

// actOnQueue performs one action on the queue of an arm.
func actOnQueue(c *cobra.Command, client *apiclient.Client, name, do string, args, files []string) error {
	least := map[string]int{"list": 0, "add": 1, "edit": 2, "move": 2, "remove": 1, "pause": 0, "resume": 0}
	need, known := least[do]
	if !known || len(args) < need || len(args) > 0 && (do == "list" || do == "resume") || do == "move" && len(args) > 2 {
		return coleo.Errorf(coleo.EInvalid, "%s: %q does not fit (see %s --help)", c.CommandPath(),
			strings.Join(append([]string{do}, args...), " "), c.CommandPath())
	}
	switch do {
	case "add":
		return followUp(c, client, name, args, files)
	case "pause":
		r, err := client.PauseArm(c.Context(), name, strings.Join(args, " "))
		return sayUnless(c, err, "Paused "+name, r)
	case "resume":
		r, err := client.ResumeArm(c.Context(), name)
		return sayUnless(c, err, "Resumed "+name, r)
	}
	q, err := client.Queue(c.Context(), name)
	if err != nil {
		return err
	}
	if do == "list" {
		return list(c, q)
	}
	return changeQueue(c, client, name, do, q, args, files)
}

// changeQueue edits, moves or removes entries of a queue.
func changeQueue(c *cobra.Command, client *apiclient.Client, name, do string, q coleo.Queue,
	args, files []string) error {
	if do == "remove" {
		return remove(c, client, name, q, args)
	}
	id, err := entryID(q, args[0])
	if err != nil {
		return err
	}
	if do == "move" {
		place, err := strconv.Atoi(args[1])
		if err != nil {
			return coleo.Errorf(coleo.EInvalid, "%q is not a place in the queue, such as 1", args[1])
		}
		r, err := client.MoveQueued(c.Context(), name, id, place)
		return sayUnless(c, err, "Moved "+id, r)
	}
	text, err := textOf(args[1:])
	if err != nil {
		return err
	}
	if files, err = Paths(files); err != nil {
		return err
	}
	if at := slices.IndexFunc(q.Entries, func(e coleo.Queued) bool { return e.ID == id }); len(files) == 0 && at >= 0 {
		files = q.Entries[at].Files // the order replaces the text and the files
	}
	r, err := client.EditQueued(c.Context(), name, id, text, files)
	return sayUnless(c, err, "Changed "+id, r)
}

func remove(c *cobra.Command, client *apiclient.Client, name string, q coleo.Queue, which []string) error {
	var ids []string
	for _, w := range which { // this loop finds all ids before anything is removed, so that an error removes nothing
		id, err := entryID(q, w)
		if err != nil {
			return err
		}
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	var r coleo.QueueReport
	for i, id := range ids {
		var err error
		if r, err = client.RemoveQueued(c.Context(), name, id); err != nil && i > 0 {
			return fmt.Errorf("%s removed before this failed: %w", verb.Counted(i, "prompt"), err)
		} else if err != nil {
			return err
		}
	}
	return printReport(c, "Removed "+strings.Join(ids, ", "), r)
}

func sayUnless(c *cobra.Command, err error, line string, r coleo.QueueReport) error {
	if err != nil {
		return err
	}
	return printReport(c, line, r)
}

// entryID returns the id of the entry that the user names. The user names it by its number in the
// list, by its id, or by the beginning of its id.
func entryID(q coleo.Queue, named string) (string, error) {
	if n, err := strconv.Atoi(named); err == nil {
		if n < 1 || n > len(q.Entries) {
			return "", coleo.Errorf(coleo.ENotFound, "the queue has no prompt %d: it has %d", n, len(q.Entries))
		}
		return q.Entries[n-1].ID, nil
	}
	var found []string
	for _, e := range q.Entries {
		if strings.HasPrefix(strings.ToLower(e.ID), strings.ToLower(named)) {
			found = append(found, e.ID)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return "", coleo.Errorf(coleo.EInvalid, "%[2]d ids begin with %[1]q: give a longer beginning", named, len(found))
	}
	return "", coleo.Errorf(coleo.ENotFound, "the queue has no prompt %q: it was sent, removed or never added", named)
}

// list prints a queue.
func list(c *cobra.Command, q coleo.Queue) error {
	if verb.WantsJSON(c) {
		return verb.PrintJSON(c, q)
	}
	_, err := io.WriteString(show.Writer(c), text(q))
	return err
}

// idShown and lineShown are how many characters the list shows of an id and of a text.
const (
	idShown   = 8
	lineShown = 80
)

// text returns a queue as text for users.
func text(q coleo.Queue) string {
	var b strings.Builder
	if len(q.Entries) == 0 {
		b.WriteString("No prompts are queued.\n")
	}
	for i, e := range q.Entries {
		line := strings.Join(strings.Fields(e.Text), " ")
		if letters := []rune(line); len(letters) > lineShown {
			line = string(letters[:lineShown]) + "…"
		}
		if len(e.Files) > 0 {
			line += fmt.Sprintf("  [%s]", strings.Join(e.Files, ", "))
		}
		fmt.Fprintf(&b, "%3d  %s  %s\n", i+1, e.ID[:min(idShown, len(e.ID))], line)
	}
	if q.Paused != "" {
		b.WriteString("Paused: " + q.Paused + "\n")
	}
	if q.Held != "" {
		b.WriteString("The first prompt was not sent: " + q.Held + "\n")
	}
	return b.String()
}
