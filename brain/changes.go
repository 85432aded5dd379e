package brain

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/changes"
	"coleo.dev/graph"
)

const (
	// diffTimeout is the time limit for reading the changes in a repository, which can be large.
	diffTimeout = 60 * time.Second
	// restoreTimeout is the time limit for a restore. A restore waits while the arm's agent CLI is
	// being started.
	restoreTimeout = 120 * time.Second
	// MergeTime is the time limit for a merge. The host agent already ends a merge after
	// bus.MergeTime.
	MergeTime = bus.MergeTime + time.Minute
	// whyTime is the maximum time of the search for the calls that made a diff. whyHunks is the
	// maximum number of the diff's hunks for which the brain searches.
	whyTime  = 20 * time.Second
	whyHunks = 500
	// whyLines is the maximum number of lines of a hunk that the brain tries until it finds a call
	// for one of them.
	whyLines = 3
)

// Diff returns the changes of an arm in its folder. If withCalls is true, Diff also finds the call
// that made each hunk.
//
// Diff returns ENotFound if there is no such arm or checkpoint. It returns EUnsupported if the
// arm's folder is not in a git repository. It returns EExited if the arm has never run, and
// EUnavailable if the host agent cannot be asked.
func (b *Brain) Diff(ctx context.Context, idOrName string, w changes.Wish, withCalls bool) (changes.Diff, error) {
	var d changes.Diff
	arm, err := b.Arm(ctx, idOrName)
	if err != nil {
		return d, err
	}
	o := bus.DiffOrder{Arm: arm.ID, Wish: w}
	var data []byte
	for {
		var p bus.Piece
		if err := b.askAboutArm(ctx, arm, bus.OpDiff, diffTimeout+w.Wait, o, &p); err != nil {
			return d, err
		}
		data = append(data, p.Data...)
		if len(data) >= p.Total || len(p.Data) == 0 {
			break
		}
		o.ID, o.From = p.ID, len(data)
	}
	if err := json.Unmarshal(data, &d); err != nil {
		return d, coleo.Errorf(coleo.EInternal, "read the diff of arm %s: %v", arm.Name, err)
	}
	if withCalls {
		err = b.tellWhy(ctx, arm, &d)
	}
	return d, err
}

// Checkpoints returns the checkpoints of an arm, oldest first. It returns the errors of Diff.
func (b *Brain) Checkpoints(ctx context.Context, idOrName string) ([]changes.Checkpoint, error) {
	var list []changes.Checkpoint
	arm, err := b.Arm(ctx, idOrName)
	if err != nil {
		return nil, err
	}
	return list, b.askAboutArm(ctx, arm, bus.OpCheckpoints, diffTimeout, onArm(arm), &list)
}

// Restore puts the files of a checkpoint back. It returns EBusy if an arm in the same repository
// could be changing files. It also returns the errors of Diff.
func (b *Brain) Restore(ctx context.Context, idOrName string, n int) (changes.Restored, error) {
	var r changes.Restored
	arm, err := b.Arm(ctx, idOrName)
	if err != nil {
		return r, err
	}
	return r, b.askAboutArm(ctx, arm, bus.OpRestore, restoreTimeout, bus.RestoreOrder{Arm: arm.ID, N: n}, &r)
}

// Merge merges the work of an arm into another branch. If git finds conflicts, Merge changes
// nothing, and the result contains the conflicts. If ask is also true, Merge sends the conflicts to
// the arm as one prompt. The caller says who has ordered the merge, for the event in the arm's log.
//
// Merge returns ENotFound if there is no such arm. It returns EUnsupported if the arm has no
// worktree. It returns EConflict if the arm's work or the branch prevents the merge. If the request
// is to commit first, and the arm could be changing files, Merge returns EBusy. If ask is true,
// Merge also returns the errors of Prompt.
func (b *Brain) Merge(ctx context.Context, idOrName string, w changes.MergeWish, by string,
	ask bool) (changes.Merged, error) {
	var m changes.Merged
	err := b.orderAndCatchUp(ctx, idOrName, bus.OpMerge, MergeTime, func(arm coleo.Arm) any {
		return bus.MergeOrder{Arm: arm.ID, Wish: w, By: by}
	}, &m)
	if err != nil || !ask || len(m.Conflicts) == 0 || w.DryRun {
		return m, err
	}
	r, err := b.Prompt(ctx, idOrName, coleo.Prompt{Text: changes.MergePrompt(m)}, "")
	if err != nil {
		return m, fmt.Errorf("nothing was merged, because there are %d conflicts; they could not be handed to the arm: %w",
			len(m.Conflicts), err)
	}
	m.Asked = &r
	return m, nil
}

// hunkWriters looks for the calls that made the hunks of a diff.
type hunkWriters struct {
	b     *Brain
	arm   coleo.Arm
	diff  *changes.Diff
	logs  map[string]runLog
	known map[string]changes.Why // by run and call
}

// tellWhy sets the field Why of the hunks. It stops after whyHunks hunks, or after whyTime. It
// considers only calls of the arm itself.
func (b *Brain) tellWhy(ctx context.Context, arm coleo.Arm, d *changes.Diff) error {
	w := hunkWriters{b, arm, d, map[string]runLog{}, map[string]changes.Why{}}
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
	runs, mentions, err := w.b.changesOf(ctx, q, []coleo.Arm{w.arm})
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

// pathsOf returns the absolute paths that the arm's model may use for a file. The first path
// contains no symbolic links. The second path contains the symbolic links of the work folder in the
// arm's configuration.
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
		f, of, _, err := w.b.writer(ctx, q, runs, w.read)
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

// searchLines returns the longest lines of a hunk. The brain uses these lines to search for the
// call that made the hunk. If the hunk only deletes lines, searchLines returns one line without
// text.
func searchLines(lines []changes.NewLine, start int) []changes.NewLine {
	lines = slices.DeleteFunc(lines, func(l changes.NewLine) bool { return strings.TrimSpace(l.Text) == "" })
	slices.SortStableFunc(lines, func(x, y changes.NewLine) int { return len(y.Text) - len(x.Text) })
	if len(lines) == 0 {
		return []changes.NewLine{{Number: max(start, 1)}}
	}
	return lines[:min(len(lines), whyLines)]
}

// read returns the log of a run. It reads each log only once.
func (w *hunkWriters) read(ctx context.Context, run string) (runLog, error) {
	if log, ok := w.logs[run]; ok {
		return log, nil
	}
	log, err := w.b.readRun(ctx, run)
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
	err := w.b.approver(ctx, &a)
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
