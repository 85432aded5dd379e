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
	// diffTimeout bounds the reading of a large repository.
	diffTimeout = 60 * time.Second
	// restoreTimeout bounds a restore. It can end while an agent CLI is being started.
	restoreTimeout = 120 * time.Second
	// MergeTime is how long a merge waits for its host agent, which ends the merge before.
	MergeTime = bus.MergeTime + time.Minute
	// whyTime is how long the search for the calls that made a diff may take. whyHunks is for how
	// many of its hunks the brain searches.
	whyTime  = 20 * time.Second
	whyHunks = 500
	// whyLines is how many lines of a hunk are tried until a call is found for one.
	whyLines = 3
)

// Diff returns the changes of an arm in its folder. If why is true, Diff also finds the call that
// made each hunk.
//
// Diff returns ENotFound if there is no such arm or checkpoint, EUnsupported if the arm's
// folder is in no git repository, EExited if the arm has never run, and EUnavailable if the
// host agent cannot be asked.
func (b *Brain) Diff(ctx context.Context, idOrName string, w changes.Wish, why bool) (changes.Diff, error) {
	var d changes.Diff
	arm, err := b.Arm(ctx, idOrName)
	if err != nil {
		return d, err
	}
	o := bus.DiffOrder{Arm: arm.ID, Wish: w}
	var data []byte
	for {
		var p bus.Piece
		if err := b.ask(ctx, arm, bus.OpDiff, diffTimeout, o, &p); err != nil {
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
	if why {
		err = b.tellWhy(ctx, arm, &d)
	}
	return d, err
}

// Checkpoints returns the checkpoints of an arm, the oldest first. It returns the errors of
// Diff.
func (b *Brain) Checkpoints(ctx context.Context, idOrName string) ([]changes.Checkpoint, error) {
	var list []changes.Checkpoint
	arm, err := b.Arm(ctx, idOrName)
	if err != nil {
		return nil, err
	}
	return list, b.ask(ctx, arm, bus.OpCheckpoints, diffTimeout, onArm(arm), &list)
}

// Restore puts the files of a checkpoint back. It returns EBusy if an arm in the same
// repository may change files. It also returns the errors of Diff.
func (b *Brain) Restore(ctx context.Context, idOrName string, n int) (changes.Restored, error) {
	var r changes.Restored
	arm, err := b.Arm(ctx, idOrName)
	if err != nil {
		return r, err
	}
	return r, b.ask(ctx, arm, bus.OpRestore, restoreTimeout, bus.RestoreOrder{Arm: arm.ID, N: n}, &r)
}

// Merge merges the work of an arm into another branch. If git finds conflicts, the result has them,
// and nothing was changed. With ask, they then go to the arm as one prompt. The argument by says
// who has ordered the merge, for the event in the arm's log.
//
// Merge returns ENotFound if there is no such arm, EUnsupported if it has no worktree, and
// EConflict if the arm's work or the branch does not let it merge. If the wish is to commit first,
// and the arm may change files, it returns EBusy. With ask, it also returns the errors of Prompt.
func (b *Brain) Merge(ctx context.Context, idOrName string, w changes.MergeWish, by string,
	ask bool) (changes.Merged, error) {
	var m changes.Merged
	err := b.commanded(ctx, idOrName, bus.OpMerge, MergeTime, func(arm coleo.Arm) any {
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

// pathsOf returns the absolute paths that the arm's model may use for a file. One has no symbolic
// links. The other has the symbolic links of the work folder in the arm's configuration.
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
	for _, line := range telling(w.diff.NewLines(*h), h.NewStart) {
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
	why, err := w.tell(ctx, q, found, log, mentions)
	h.Why = &why
	return err
}

// The function telling returns the longest lines of a hunk, by which the brain searches for its
// call. For a hunk that only deletes, it returns one line without text.
func telling(lines []changes.NewLine, start int) []changes.NewLine {
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

func (w *hunkWriters) tell(ctx context.Context, q graph.Question, f graph.Finding, log runLog,
	mentions []graph.Mention) (changes.Why, error) {
	key := string(f.Certainty) + " " + f.Run + " " + f.Call
	if why, ok := w.known[key]; ok && f.Run != "" {
		return why, nil
	}
	a := graph.Tell(q, f, log.graph(), mentions)
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

// commentKey returns the name of the setting that stores an arm's comments.
func commentKey(arm string) string { return "comments." + arm }

// Comments returns the unsent comments on an arm's changes. It returns ENotFound if there is no
// such arm.
func (b *Brain) Comments(ctx context.Context, idOrName string) ([]changes.Comment, error) {
	arm, err := b.Arm(ctx, idOrName)
	if err != nil {
		return nil, err
	}
	return b.commentsOf(ctx, arm.ID)
}

func (b *Brain) commentsOf(ctx context.Context, arm string) (list []changes.Comment, err error) {
	text, err := b.DB.Config(ctx, commentKey(arm))
	if err == nil && text != "" {
		err = json.Unmarshal([]byte(text), &list)
	}
	return list, err
}

// keepComments stores the comments of an arm. The caller must hold b.commenting.
func (b *Brain) keepComments(ctx context.Context, arm string, list []changes.Comment) error {
	if len(list) == 0 {
		return b.DB.SetConfig(ctx, commentKey(arm), "")
	}
	text, err := json.Marshal(list)
	if err != nil {
		return err
	}
	return b.DB.SetConfig(ctx, commentKey(arm), string(text))
}

// Comment stores a new comment, and returns all comments of the arm. It returns the errors of
// changes.AddComment, and ENotFound if there is no such arm.
func (b *Brain) Comment(ctx context.Context, idOrName string, c changes.Comment) ([]changes.Comment, error) {
	arm, list, err := b.lockComments(ctx, idOrName)
	if err != nil {
		return nil, err
	}
	defer b.commenting.Unlock()
	c.Time = b.Now().UTC()
	if list, err = changes.AddComment(list, c); err != nil {
		return nil, err
	}
	return list, b.keepComments(ctx, arm, list)
}

// DropComments deletes the comments of an arm, and returns the deleted ones. It returns
// ENotFound if there is no such arm.
func (b *Brain) DropComments(ctx context.Context, idOrName string) ([]changes.Comment, error) {
	arm, list, err := b.lockComments(ctx, idOrName)
	if err != nil {
		return nil, err
	}
	defer b.commenting.Unlock()
	return list, b.keepComments(ctx, arm, nil)
}

// lockComments locks b.commenting, and returns the id of an arm with its comments. The
// caller must unlock b.commenting. After an error it is not locked.
func (b *Brain) lockComments(ctx context.Context, idOrName string) (id string, list []changes.Comment, err error) {
	arm, err := b.Arm(ctx, idOrName)
	if err != nil {
		return "", nil, err
	}
	b.commenting.Lock()
	if list, err = b.commentsOf(ctx, arm.ID); err != nil {
		b.commenting.Unlock()
	}
	return arm.ID, list, err
}

// SendComments sends all comments of an arm as one prompt, and then deletes them. After an
// error it deletes none, even if the prompt may have arrived. It returns EConflict if there
// are no comments, and the errors of Prompt.
func (b *Brain) SendComments(ctx context.Context, idOrName string) (changes.Sent, error) {
	arm, err := b.Arm(ctx, idOrName)
	if err != nil {
		return changes.Sent{}, err
	}
	b.commenting.Lock() // so that nobody sends the same comments meanwhile
	defer b.commenting.Unlock()
	list, err := b.commentsOf(ctx, arm.ID)
	if err == nil && len(list) == 0 {
		err = coleo.Errorf(coleo.EConflict, "arm %s has no comments: nothing was sent", arm.Name)
	}
	if err != nil {
		return changes.Sent{}, err
	}
	sent := changes.Sent{Comments: len(list)}
	if sent.Receipt, err = b.Prompt(ctx, arm.ID, coleo.Prompt{Text: changes.CommentPrompt(list)}, ""); err != nil {
		return changes.Sent{}, err
	}
	return sent, b.keepComments(context.WithoutCancel(ctx), arm.ID, nil)
}
