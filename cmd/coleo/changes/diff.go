// Package changes contains the verbs about what an arm has changed in its folder: diff, checkpoint,
// comment, merge, pr and watch-pr.
package changes

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/api/apiclient"
	"coleo.dev/changes"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/show"
	"coleo.dev/cmd/coleo/verb"
	"coleo.dev/printable"
)

const diffHelp = `Show what the arm has changed in its folder since it was started: in commits, in the
index, in the work folder, and in files that git does not know. The comparison
begins at the commit of that start, even after the arm commits or restarts.

In a file or a pipe, the output is a patch for 'git apply'. It contains binary files
only with --binary. On a terminal it has colours, and control characters are shown
as \x1b and the like. Files that git ignores are left out.

  coleo arm diff fix --binary | git apply

--why shows above each change which call of the arm made it, who approved the call,
and how to see that moment. The output is then no longer a patch for 'git apply'.

--follow shows the diff, and shows it again each time that it has changed, until you
press Ctrl-C. With --json, each diff is one line. It works on Linux only.`

// DiffCommand returns the verb "arm diff".
func DiffCommand() *cobra.Command {
	var w changes.DiffRequest
	var why, follow bool
	c := &cobra.Command{
		Use:   "diff NAME [PATH]...",
		Short: "Show what the arm has changed in its folder",
		Long:  diffHelp,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return coleo.Errorf(coleo.EInvalid, "%s takes the name "+
					"of an arm, and optionally files and folders", c.CommandPath())
			}
			if why && w.Stat {
				return coleo.Errorf(coleo.EInvalid, "--why explains the changes of a "+
					"patch, but --stat shows no patch: leave one out")
			}
			if why && follow {
				return coleo.Errorf(coleo.EInvalid, "--why takes too long for --follow: leave out one of them")
			}
			return nil
		},
		RunE: setup.WithClient(func(c *cobra.Command, client *apiclient.Client, args []string) error {
			w.Paths = args[1:]
			if follow {
				return followDiff(c, client, args[0], w)
			}
			d, err := client.Diff(c.Context(), args[0], w, why)
			if err != nil {
				return err
			}
			noteUnchanged(c, args[0], d, w.Paths)
			return printDiff(c, args[0], d, w.Stat, why)
		}),
	}
	c.Flags().BoolVar(&w.Stat, "stat", false, "list the files only")
	c.Flags().BoolVar(&w.Binary, "binary", false, "put binary files into the patch")
	c.Flags().BoolVar(&why, "why", false, "show which call made each change")
	c.Flags().BoolVarP(&follow, "follow", "f", false, "show the diff again each time that it has changed")
	return c
}

const (
	// followWait is how long a request of followDiff waits for a change of the diff. While nothing changes,
	// followDiff sends one request per followWait.
	followWait = 5 * time.Minute
	// followPause is the shortest time between two requests. An older host agent answers at once instead of
	// waiting for a change, and followDiff would otherwise ask it without a pause.
	followPause = 500 * time.Millisecond
)

// followDiff prints the diff after each change, until ctx ends or an error occurs.
func followDiff(c *cobra.Command, client *apiclient.Client, arm string, w changes.DiffRequest) error {
	w.Wait = followWait
	lines := verb.JSON(c.OutOrStdout())
	for {
		next := time.NewTimer(followPause)
		d, err := client.Diff(c.Context(), arm, w, false)
		switch {
		case c.Context().Err() != nil:
			return nil //nolint:nilerr // the user has pressed Ctrl-C
		case err != nil:
			return err
		case d.Unchanged:
		case verb.WantsJSON(c):
			err = lines.Encode(d)
		default:
			fmt.Fprintf(c.ErrOrStderr(), "the diff at %s:\n", d.Time.Local().Format(time.TimeOnly))
			err = printDiff(c, arm, d, w.Stat, false)
		}
		if err != nil {
			return err
		}
		if d.Mark == "" {
			return coleo.Errorf(coleo.EUnsupported, "the host agent of arm %s is too old to be followed: update it", arm)
		}
		w.Since = d.Mark
		select {
		case <-next.C:
		case <-c.Context().Done():
			return nil
		}
	}
}

// noteUnchanged prints a note to standard error if the diff of certain paths is empty, because a path
// may be misspelled.
func noteUnchanged(c *cobra.Command, arm string, d changes.Diff, paths []string) {
	if len(paths) == 0 || len(d.Files) > 0 || len(d.Left) > 0 || d.Cut != "" {
		return
	}
	var shown []string
	for _, path := range paths {
		shown = append(shown, changes.Show(path))
	}
	fmt.Fprintf(c.ErrOrStderr(), "note: arm %s has changed nothing in %s\n", arm, strings.Join(shown, ", "))
}

// printDiff prints a diff. It prints notes about missing parts to standard error, so that standard
// output stays a valid patch.
func printDiff(c *cobra.Command, arm string, d changes.Diff, stat, why bool) error {
	if verb.WantsJSON(c) {
		return verb.PrintJSON(c, d)
	}
	for _, l := range d.Left {
		fmt.Fprintf(c.ErrOrStderr(), "left out: %s: %s\n", changes.Show(l.Name()), changes.Show(l.Why))
	}
	if d.Cut != "" {
		fmt.Fprintln(c.ErrOrStderr(), "not complete: "+d.Cut)
	}
	var err error
	switch terminal := show.Width(c) > 0; {
	case stat:
		_, err = io.WriteString(show.Writer(c), statText(d))
	case why || terminal:
		_, err = io.WriteString(show.Writer(c), patchText(d, arm, why))
	default:
		_, err = c.OutOrStdout().Write(d.Patch)
	}
	return err
}

// statText returns a table of the files.
func statText(d changes.Diff) string {
	if len(d.Files) == 0 {
		return "Nothing has changed.\n"
	}
	var b strings.Builder
	for _, f := range d.Files {
		lines := show.Green.Paint(fmt.Sprintf("+%d", f.LinesAdded)) + " " + show.Red.Paint(fmt.Sprintf("-%d", f.LinesDeleted))
		if f.Binary {
			lines = "binary"
		}
		name := changes.Show(f.Name())
		if f.OldPath != "" {
			name = changes.Show(f.OldName()) + " => " + name
		}
		fmt.Fprintf(&b, "%-8s  %s  %s  (%s)\n", f.Kind, name, lines, placeOf(f))
	}
	added, deleted := changes.Sum(d.Files)
	fmt.Fprintf(&b, "%s, %s added, %d deleted\n", verb.Counted(len(d.Files), "file"), verb.Counted(added, "line"), deleted)
	return b.String()
}

// placeOf returns where the change of a file is, such as in commits or in the index.
func placeOf(f changes.File) string {
	var words []string
	for _, w := range []struct {
		is   bool
		word string
	}{{f.Conflict, "conflict"}, {f.Committed, "committed"}, {f.Staged, "staged"}, {f.Untracked, "untracked"},
		{f.Unstaged && !f.Untracked, "not staged"}} {
		if w.is {
			words = append(words, w.word)
		}
	}
	if len(words) == 0 {
		return "checkpoint"
	}
	return strings.Join(words, ", ")
}

// patchText returns the patch for a person at a terminal.
func patchText(d changes.Diff, arm string, why bool) string {
	hunks := map[int]*changes.Why{}
	for _, f := range d.Files {
		for _, h := range f.Hunks {
			hunks[h.Offset] = h.Why
		}
	}
	var b strings.Builder
	offset, head := 0, true
	for line := range bytes.Lines(d.Patch) {
		text := visible(strings.TrimSuffix(string(line), "\n"))
		switch {
		case bytes.HasPrefix(line, []byte("diff --git ")):
			head = true
			b.WriteString(show.Yellow.Paint(text))
		case bytes.HasPrefix(line, []byte("@@ ")):
			if head = false; why {
				b.WriteString(whyText(hunks[offset], arm))
			}
			b.WriteString(show.Cyan.Paint(text))
		case !head && line[0] == '+':
			b.WriteString(show.Green.Paint(text))
		case !head && line[0] == '-':
			b.WriteString(show.Red.Paint(text))
		default:
			b.WriteString(text)
		}
		b.WriteString("\n")
		offset += len(line)
	}
	return b.String()
}

// whyText returns the lines that are printed above a hunk of a diff. They say which tool call made the hunk,
// for which prompt, and who approved the call.
func whyText(w *changes.Why, arm string) string {
	if w == nil {
		return "# not looked up\n"
	}
	lines := []string{w.Note}
	if w.Tool != "" {
		line := "call " + w.Tool
		if w.Time != nil {
			line += ", " + w.Time.Local().Format("2006-01-02 15:04:05")
		}
		if lines = append(lines, line); w.Prompt != "" {
			lines = append(lines, "prompt "+show.Cut(strings.Join(strings.Fields(w.Prompt), " "), 66))
		}
	}
	if w.Approval != "" {
		line := "approval " + w.Approval
		if w.Policy != "" {
			line += ", by the policy (" + w.Policy + ")"
		}
		if w.Approver != "" {
			line += ", by " + w.Approver
		}
		lines = append(lines, line)
	}
	if w.Time != nil {
		lines = append(lines, fmt.Sprintf("moment coleo arm screen %s --at %s", arm,
			w.Time.UTC().Format("2006-01-02T15:04:05.000Z")))
	}
	var b strings.Builder
	for _, line := range lines {
		b.WriteString("# " + visible(line) + "\n")
	}
	return b.String()
}

// visible returns a line in which control characters are escaped, so that a terminal does not obey
// them.
func visible(line string) string {
	var b strings.Builder
	for i, part := range strings.Split(line, "\t") {
		if i > 0 {
			b.WriteString("\t")
		}
		b.WriteString(printable.Escaped(part))
	}
	return b.String()
}
