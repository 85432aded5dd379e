// Package origin searches serve's log for the tool call that wrote a line of a file. It also finds the
// run of the call, and who approved the call. It also makes the graph of a run.
//
// Package graph decides what events mean. This package only reads the events.
package origin

import (
	"context"
	"encoding/json"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"coleo.dev"
	"coleo.dev/graph"
	"coleo.dev/store"
	"coleo.dev/wire"
)

// These constants limit how much of the log is read for one request. If a request reaches one of
// these limits, the answer says that not everything was read.
const (
	graphEvents = 200_000  // the largest number of events of one run
	graphBytes  = 64 << 20 // the largest total size of the payloads of one run's events, in bytes
	whyRuns     = 100      // the largest number of runs that changed the file; the newest are read
	whyEvents   = 500_000  // the largest total number of events of the runs that changed the file
	// the largest number of file changes of one arm, and the largest number of its calls; the newest are read
	whyLooked = 20_000
	whyPage   = 1_000 // the largest number of events that one read returns
	// approverWindow is the longest time between a command that answers a dialog and the event that
	// reports the answer. In between, the host types the answer and waits until the dialog is gone.
	approverWindow = 2 * time.Minute
)

// Origins reads one database. It is safe for concurrent use.
type Origins struct{ db *store.ServeDB }

// New returns an Origins that reads the given database.
func New(db *store.ServeDB) *Origins { return &Origins{db} }

// Graph returns the graph of one run. It returns ENotFound if the log contains no such run.
func (o *Origins) Graph(ctx context.Context, run string) (graph.Document, error) {
	log, err := o.logOf(ctx, run)
	if err != nil {
		return graph.Document{}, err
	}
	d := log.graph().Of(run).Document()
	d.Partial = log.partial
	return d, nil
}

// runLog contains the events of one arm from the start of one of its runs to the end of that run. The
// approvals among these events name no run, because the host does not know their run.
type runLog struct {
	run     string
	arm     string // the arm's id
	first   uint64 // the position of the first event
	events  []coleo.Event
	own     []coleo.Event // the arm's start and the run's own events; set only by readRun
	partial bool
}

func (l runLog) graph() graph.Graph {
	var g graph.Graph
	for _, e := range l.events {
		g = graph.Reduce(g, e)
	}
	return g
}

// logOf reads the events of a run. It returns ENotFound if there are no such events.
func (o *Origins) logOf(ctx context.Context, run string) (runLog, error) {
	log := runLog{run: run}
	begin, err := o.db.Entries(ctx, store.EventFilter{Run: run, Limit: 1})
	if err != nil {
		return log, err
	}
	if run == "" || len(begin) == 0 {
		return log, coleo.Errorf(coleo.ENotFound, "there is no run %q, or its events were deleted", run)
	}
	log.arm, log.first = begin[0].Arm, begin[0].Position
	size := 0
	for after := log.first - 1; ; {
		page, err := o.db.Entries(ctx, store.EventFilter{Arm: log.arm, After: after})
		if err != nil || len(page) == 0 {
			return log, err
		}
		for _, e := range page {
			after, size = e.Position, size+len(e.Payload)
			log.events = append(log.events, e.Event)
			if e.Run == run && e.Kind == coleo.EventRunEnd {
				return log, nil
			}
		}
		if len(log.events) >= graphEvents || size >= graphBytes {
			log.partial = true
			return log, nil
		}
	}
}

// Why returns the tool call that wrote a line of a file. It returns EInvalid if a path is not
// absolute.
func (o *Origins) Why(ctx context.Context, w wire.WhyQuestion) (graph.Answer, error) {
	q := graph.Question{Line: w.Line, Text: w.Text, Folders: map[string]string{}}
	for _, p := range w.Paths {
		if !filepath.IsAbs(p) {
			return graph.Answer{}, coleo.Errorf(coleo.EInvalid, "%q is not an absolute path", p)
		}
		q.Paths = append(q.Paths, filepath.Clean(p))
	}
	if len(q.Paths) == 0 || w.Line < 1 {
		return graph.Answer{}, coleo.Errorf(coleo.EInvalid, "name the file by its absolute path, and a line from 1")
	}
	arms, err := o.db.Arms(ctx, true)
	if err != nil {
		return graph.Answer{}, err
	}
	names := map[string]string{}
	for _, arm := range arms {
		q.Folders[arm.ID], names[arm.ID] = arm.Workdir, arm.Name
	}
	runs, mentions, err := o.changesOf(ctx, q, arms)
	if err != nil {
		return graph.Answer{}, err
	}
	found, log, partial, err := o.findWriter(ctx, q, runs, o.readRun)
	if err != nil {
		return graph.Answer{}, err
	}
	a := graph.MakeAnswer(q, found, log.graph(), mentions)
	a.ArmName = names[a.Arm]
	if partial && a.Certainty != graph.Wrote {
		a.Note += "; only the newest runs were read"
	}
	return a, o.addApprover(ctx, &a)
}

// changesOf returns the runs that changed the file, newest first. It also returns commands that
// mention the file, from arms whose work folder contains the file.
func (o *Origins) changesOf(ctx context.Context, q graph.Question,
	arms []coleo.Arm) ([]string, []graph.Mention, error) {
	var changes, calls []store.Entry
	for _, arm := range arms {
		err := o.newestFirst(ctx, arm.ID, coleo.EventFileChanged, func(e store.Entry) {
			var f coleo.FileChanged
			if json.Unmarshal(e.Payload, &f) == nil && q.Names(e.Arm, f.Path) {
				changes = append(changes, e)
			}
		})
		if err == nil && slices.ContainsFunc(q.Paths, func(p string) bool { return isBelow(arm.Workdir, p) }) {
			err = o.newestFirst(ctx, arm.ID, coleo.EventToolStart, func(e store.Entry) {
				if _, ok := graph.Mentions(q, e.Event); ok {
					calls = append(calls, e)
				}
			})
		}
		if err != nil {
			return nil, nil, err
		}
	}
	newest := func(x, y store.Entry) int { return int(int64(y.Position) - int64(x.Position)) }
	slices.SortFunc(changes, newest)
	slices.SortFunc(calls, newest)
	var runs []string
	for _, e := range changes {
		if !slices.Contains(runs, e.Run) && len(runs) <= whyRuns {
			runs = append(runs, e.Run)
		}
	}
	var mentions []graph.Mention
	for _, e := range slices.Backward(calls) {
		m, _ := graph.Mentions(q, e.Event)
		mentions = append(mentions, m)
	}
	return runs, mentions, nil
}

// isBelow reports whether a path is below the folder.
func isBelow(folder, p string) bool {
	return folder != "" && strings.HasPrefix(p, strings.TrimSuffix(path.Clean(folder), "/")+"/")
}

// newestFirst calls a function with an arm's events of the given kind, newest first. It stops after
// about whyLooked events.
func (o *Origins) newestFirst(ctx context.Context, arm string, kind coleo.EventKind, do func(store.Entry)) error {
	before := uint64(0)
	for n := 0; n < whyLooked; {
		page, err := o.db.Newest(ctx, arm, kind, before, whyPage)
		if err != nil || len(page) == 0 {
			return err
		}
		for _, e := range slices.Backward(page) {
			do(e)
		}
		n, before = n+len(page), page[0].Position
	}
	return nil
}

// readRun reads the events of a run. It also reads the newest start of the run's arm before the
// run.
func (o *Origins) readRun(ctx context.Context, run string) (runLog, error) {
	log, err := o.logOf(ctx, run)
	if err != nil {
		return log, err
	}
	starts, err := o.db.Newest(ctx, log.arm, coleo.EventSpawned, log.first, 1)
	for _, e := range starts {
		log.own = append(log.own, e.Event)
	}
	for _, e := range log.events {
		if e.Run == run {
			log.own = append(log.own, e)
		}
	}
	return log, err
}

// findWriter searches the runs, newest first, for the call that wrote the line. If no call wrote the
// line, findWriter returns the newest call that changed the file. It also returns the log of the
// call's run. To read a log, it calls readLog.
func (o *Origins) findWriter(ctx context.Context, q graph.Question, runs []string,
	readLog func(context.Context, string) (runLog, error)) (graph.Finding, runLog, bool, error) {
	found, of := graph.Finding{Certainty: graph.Nothing}, runLog{}
	partial, events := len(runs) > whyRuns, 0
	for _, run := range runs[:min(len(runs), whyRuns)] {
		if events > whyEvents {
			partial = true
			break
		}
		log, err := readLog(ctx, run)
		if coleo.ErrorCode(err) == coleo.ENotFound {
			continue
		}
		if err != nil {
			return found, of, partial, err
		}
		partial, events = partial || log.partial, events+len(log.events)
		f := graph.Search(q, log.own)
		if f.Certainty == graph.Wrote {
			return f, log, partial, nil
		}
		if found.Certainty == graph.Nothing && f.Certainty != graph.Nothing {
			found, of = f, log
		}
	}
	return found, of, partial, nil
}

// addApprover finds in the audit who approved the call in the answer, and adds that person or program to the
// answer. If a policy has approved the call, addApprover does nothing, because the audit does not contain the
// decisions of policies.
func (o *Origins) addApprover(ctx context.Context, a *graph.Answer) error {
	if a.Approval == nil || a.ArmName == "" || a.Approval.Approval != nil && a.Approval.Approval.Policy != "" {
		return nil
	}
	at := a.Approval.Start
	for before := int64(0); ; {
		page, err := o.db.Audits(ctx, coleo.AuditFilter{Arm: a.ArmName, Before: before, Limit: 100})
		if err != nil || len(page) == 0 {
			return err
		}
		for _, c := range page {
			before = c.ID
			if c.Time.Before(at.Add(-approverWindow)) {
				return nil
			}
			if c.Command != "respond" || c.Result != coleo.AuditDone || c.Time.After(at) {
				continue
			}
			var body struct {
				Dialog coleo.Fingerprint `json:"dialog"`
			}
			_ = json.Unmarshal(c.Detail, &body)
			switch body.Dialog {
			case a.Approval.Approval.Fingerprint:
				a.ApproverMatched = "dialog"
			case "":
				a.ApproverMatched = "time"
			default:
				continue
			}
			a.Approver = &c.Caller
			return nil
		}
	}
}
