package origin

import (
	"context"
	"path"
	"slices"
	"strings"
	"time"

	"coleo.dev"
	"coleo.dev/changes"
	"coleo.dev/graph"
)

// This file finds the tool calls that made the hunks of a diff.

const (
	// whyTime is the time limit of the search for the calls that made a diff. whyHunks is the
	// maximum number of hunks for which ExplainHunks searches.
	whyTime  = 20 * time.Second
	whyHunks = 500
	// whyLines is the largest number of lines of one hunk for which ExplainHunks searches. ExplainHunks stops
	// at the first line for which it finds a call.
	whyLines = 3
)

// hunkWriters searches for the calls that made the hunks of a diff.
type hunkWriters struct {
	o     *Origins
	arm   coleo.Arm
	diff  *changes.Diff
	logs  map[string]runLog
	known map[string]changes.Why // the results so far; the key consists of the certainty, the run and the call
}

// ExplainHunks sets the field Why of the hunks of a diff. It stops after whyHunks hunks, or after
// whyTime. It only finds calls of the arm itself.
func (o *Origins) ExplainHunks(ctx context.Context, arm coleo.Arm, d *changes.Diff) error {
	w := hunkWriters{o, arm, d, map[string]runLog{}, map[string]changes.Why{}}
	limited, cancel := context.WithTimeout(ctx, whyTime)
	defer cancel()
	left := whyHunks
	for i := range d.Files {
		if len(d.Files[i].Hunks) == 0 {
			continue
		}
		err := w.file(limited, &d.Files[i], &left)
		if limited.Err() != nil && ctx.Err() == nil || left == 0 {
			d.Cut = strings.TrimPrefix(d.Cut+"; not all hunks were looked up", "; ")
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *hunkWriters) file(ctx context.Context, f *changes.File, left *int) error {
	q := graph.Question{Paths: w.pathsOf(f.Name()), Folders: map[string]string{w.arm.ID: w.arm.Workdir}}
	runs, mentions, err := w.o.changesOf(ctx, q, []coleo.Arm{w.arm})
	if err != nil {
		return err
	}
	for i := range f.Hunks {
		if *left == 0 {
			return nil
		}
		*left--
		if err := w.hunk(ctx, q, &f.Hunks[i], runs, mentions); err != nil {
			return err
		}
	}
	return nil
}

// pathsOf returns the absolute paths that the arm's model may have used for a file. The first path
// contains no symbolic links. If the arm's configuration names the work folder by a path with
// symbolic links, the second path begins with that path.
func (w *hunkWriters) pathsOf(name string) []string {
	paths := []string{path.Join(w.diff.Root, name)}
	if alias := w.diff.Alias; alias != "" {
		paths = append(paths, path.Join(alias, name))
	}
	return paths
}

func (w *hunkWriters) hunk(ctx context.Context, q graph.Question, h *changes.Hunk, runs []string,
	mentions []graph.Mention) error {
	found, log := graph.Finding{}, runLog{}
	for _, line := range searchLines(w.diff.NewLines(*h), h.NewStart) {
		q.Line, q.Text = line.Number, line.Text
		f, of, _, err := w.o.findWriter(ctx, q, runs, w.read)
		if err != nil {
			return err
		}
		if found.Certainty == "" || f.Certainty == graph.Wrote {
			found, log = f, of
		}
		if f.Certainty == graph.Wrote {
			break
		}
	}
	why, err := w.why(ctx, q, found, log, mentions)
	h.Why = &why
	return err
}

// searchLines returns the longest lines of a hunk. The method hunk searches for a call that wrote
// one of them. If the hunk only deletes lines, searchLines returns one line without text.
func searchLines(lines []changes.NewLine, start int) []changes.NewLine {
	lines = slices.DeleteFunc(lines, func(l changes.NewLine) bool { return strings.TrimSpace(l.Text) == "" })
	slices.SortStableFunc(lines, func(x, y changes.NewLine) int { return len(y.Text) - len(x.Text) })
	if len(lines) == 0 {
		return []changes.NewLine{{Number: max(start, 1)}}
	}
	return lines[:min(len(lines), whyLines)]
}

// read returns the log of a run. It keeps the log for later calls, unless the log could not be
// read.
func (w *hunkWriters) read(ctx context.Context, run string) (runLog, error) {
	if log, ok := w.logs[run]; ok {
		return log, nil
	}
	log, err := w.o.readRun(ctx, run)
	if err == nil {
		w.logs[run] = log
	}
	return log, err
}

func (w *hunkWriters) why(ctx context.Context, q graph.Question, f graph.Finding, log runLog,
	mentions []graph.Mention) (changes.Why, error) {
	key := string(f.Certainty) + " " + f.Run + " " + f.Call
	if why, ok := w.known[key]; ok && f.Run != "" {
		return why, nil
	}
	a := graph.MakeAnswer(q, f, log.graph(), mentions)
	a.ArmName = w.arm.Name
	err := w.o.addApprover(ctx, &a)
	why := changes.Why{Certainty: string(a.Certainty), Note: a.Note, Run: f.Run, Call: f.Call, Generation: a.Generation}
	if a.Run != nil && a.Run.Prompt != nil {
		why.Prompt, why.Offset = a.Run.Prompt.Text, a.Run.Prompt.Offset
	}
	if c := a.Call; c != nil {
		at := c.End
		if at.IsZero() {
			at = c.Start
		}
		if why.Time = &at; c.Call != nil {
			why.Tool = c.Call.Name
		}
	}
	if a.Approval != nil && a.Approval.Approval != nil {
		why.Approval, why.Policy = string(a.Approval.Approval.Choice), a.Approval.Approval.Policy
	}
	if a.Approver != nil {
		why.Approver = strings.TrimSpace(string(a.Approver.Kind) + " " + a.Approver.Program + a.Approver.ID)
	}
	w.known[key] = why
	return why, err
}
