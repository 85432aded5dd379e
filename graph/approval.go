package graph

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"coleo.dev"
)

const (
	// mostWaiting is the largest number of approvals in one run that can wait for their calls. It
	// is small because an agent CLI asks one question at a time, and records the call within
	// seconds.
	mostWaiting = 20
	// mostClosed is the largest number of ended calls in one run that can still be matched with an
	// approval. It is small because the event of an approval comes within seconds.
	mostClosed = 20
	// mostLooked is the largest number of open calls that are compared with an approval. A reply
	// contains only a few calls. If more calls are open, most of them are orphans: calls whose ends
	// are missing in the log.
	mostLooked = 100
)

// state handles an event that reports the arm's state. It adds a suspension to the run if a dialog has opened, and
// ends the suspension if the dialog is gone.
func (w *writer) state() {
	if w.run == nil {
		return
	}
	c, ok := decode[coleo.Change](w)
	if !ok {
		return
	}
	d := c.Reading.Dialog
	if c.Reading.State != coleo.WaitingApproval || d == nil {
		w.closeSuspension()
		return
	}
	if old := w.run.suspension; old != "" {
		if n := w.node(old); n.End.IsZero() && n.Suspension.Fingerprint == d.Fingerprint {
			return
		}
	}
	w.closeSuspension()
	w.run.suspensions++
	id := w.ownID(KindSuspension, fmt.Sprintf("suspension:%d", w.run.suspensions))
	w.add(id, Node{Kind: KindSuspension, Suspension: &OpenDialog{Kind: d.Kind, Title: d.Title, Subject: d.Subject,
		Options: d.Options, Fingerprint: d.Fingerprint}})
	w.run.suspension = id
}

func (w *writer) closeSuspension() {
	if id := w.run.suspension; id != "" {
		w.finish(id, w.e.Time)
	}
}

// addApproval adds an approval, and searches for the call that the approval decided.
func (w *writer) addApproval() {
	d, ok := decode[coleo.Decided](w)
	if !ok {
		return
	}
	node := Node{Kind: KindApproval, Approval: &Approval{Kind: d.Dialog.Kind, Title: d.Dialog.Title,
		Subject:   d.Dialog.Subject,
		Truncated: d.Dialog.Truncated, Fingerprint: d.Dialog.Fingerprint, Choice: d.Decision.Choice, Words: d.Decision.Words,
		Policy: d.Policy}}
	if w.run == nil {
		node.End = w.e.Time
		w.add(w.claim(KindApproval, "", fmt.Sprintf("%s/approval:%d", w.armNode, w.e.Seq)), node)
		return
	}
	w.run.approvals++
	id := w.ownID(KindApproval, fmt.Sprintf("approval:%d", w.run.approvals))
	w.add(id, node)
	w.finish(id, w.e.Time)
	opened := w.answer(id, d.Dialog.Fingerprint)
	if !decidesCalls(d.Dialog.Kind) {
		return
	}
	if call, how := w.decidedCall(w.node(id).Approval, opened); call != "" {
		w.match(id, call, how)
		return
	}
	w.run.waiting = appendUpTo(w.run.waiting, id, mostWaiting)
}

// decidesCalls reports whether a dialog of this kind can decide a tool call.
func decidesCalls(k coleo.DialogKind) bool { return k.OfWork() }

// answer connects an approval with the suspension that the approval answered. It returns the number
// of the suspension's node, or 0 if the log has no suspension for this dialog.
func (w *writer) answer(approval string, f coleo.Fingerprint) int {
	id := w.run.suspension
	if id == "" || w.node(id).Suspension.Fingerprint != f {
		return 0
	}
	w.change(id, func(n *Node) { n.Suspension.Answered = true })
	w.finish(id, w.e.Time)
	w.connect(Edge{Kind: EdgeAnswered, From: approval, To: id})
	return w.node(id).number
}

// decidedCall returns the call that an approval decided, and how the call was found. It returns ""
// if no call was found yet. nodeNumber is the number of the suspension's node. A call that ended
// before this node was created cannot be the decided call.
func (w *writer) decidedCall(a *Approval, nodeNumber int) (string, Match) {
	var calls []string
	for _, c := range w.run.closed {
		if nodeNumber > 0 && c.at >= nodeNumber {
			calls = append(calls, c.id)
		}
	}
	for _, id := range w.run.open.sortedEntries() {
		if calls = append(calls, id); len(calls) == mostLooked {
			break
		}
	}
	for _, id := range calls {
		if a.shows(w.node(id).Call) {
			return id, MatchSubject
		}
	}
	for _, id := range calls {
		if w.node(id).Call.Kind != coleo.ToolRead { // skip calls that read, because agent CLIs seldom ask before they read
			return id, MatchOrder
		}
	}
	if len(calls) > 0 {
		return calls[0], MatchOrder
	}
	return "", ""
}

// askedEarlier searches for the approval of a call among the approvals that came before the call in
// the log. If the dialog or the call does not name a command or a file, the oldest waiting approval
// matches.
func (w *writer) askedEarlier(call string) {
	c := w.node(call).Call
	how := MatchSubject
	i := slices.IndexFunc(w.run.waiting, func(id string) bool { return w.node(id).Approval.shows(c) })
	if i < 0 {
		how = MatchOrder
		i = slices.IndexFunc(w.run.waiting, func(id string) bool {
			a := w.node(id).Approval
			return a.Subject == "" || a.Truncated || c.Command == "" && len(c.Files) == 0
		})
	}
	if i >= 0 {
		id := w.run.waiting[i]
		w.run.waiting = slices.Concat(w.run.waiting[:i], w.run.waiting[i+1:])
		w.match(id, call, how)
	}
}

// match connects an approval with its call. Afterwards the call cannot be matched with another
// approval.
func (w *writer) match(approval, call string, how Match) {
	w.change(approval, func(n *Node) { n.Approval.Call, n.Approval.Matched = call, how })
	w.connect(Edge{Kind: EdgeAnswered, From: approval, To: call, Matched: how})
	n := w.node(call)
	if i := slices.IndexFunc(w.run.closed, func(c closedCall) bool { return c.id == call }); i >= 0 {
		w.run.closed = slices.Concat(w.run.closed[:i], w.run.closed[i+1:])
	}
	w.run.open = w.run.open.without(openKey(n))
	if n.Call.Result == nil {
		w.run.decided = w.run.decided.with(openKey(n), call)
	}
}

// endedCall notes that a call has ended.
func (w *writer) endedCall(id string) {
	key := openKey(w.node(id))
	if _, ok := w.run.open.get(key); ok {
		w.run.open = w.run.open.without(key)
		w.run.closed = appendUpTo(w.run.closed, closedCall{id, w.madeCount}, mostClosed)
	}
	w.run.decided = w.run.decided.without(key)
}

// appendUpTo returns a new list with the entry x at the end. If the list then has more than `most` entries,
// appendUpTo drops the oldest entries.
func appendUpTo[T any](list []T, x T, most int) []T {
	out := append(slices.Clone(list), x)
	return out[max(0, len(out)-most):]
}

// shows reports whether the dialog of the approval showed what the call does.
func (a *Approval) shows(c *Call) bool {
	if a.Subject == "" || a.Truncated {
		return false
	}
	if c.Command != "" && words(a.Subject) == words(c.Command) {
		return true
	}
	return slices.ContainsFunc(c.Files, func(file string) bool { return sameFile(a.Subject, file) })
}

// words returns s with single blanks between its words. Commands are compared in this form, because
// screens wrap them.
func words(s string) string { return strings.Join(strings.Fields(s), " ") }

// sameFile reports whether two paths probably name the same file. A relative path is treated as the
// same file as a longer path that ends with it.
func sameFile(a, b string) bool {
	a, b = path.Clean(a), path.Clean(b)
	if len(a) > len(b) {
		a, b = b, a
	}
	return a != "." && a != "/" && (a == b || !path.IsAbs(a) && strings.HasSuffix(b, "/"+a))
}
