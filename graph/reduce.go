package graph

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"coleo.dev"
)

// mostFaults is the largest number of faults that are kept for one run. More faults would add
// nothing new about the log.
const mostFaults = 10

// runState contains what Reduce must know about a run in addition to the run's nodes. A stored
// runState never changes.
type runState struct {
	node, armNode, parentNode string // ids of nodes

	begun, ended bool
	turn         int          // the last turn that has begun
	open         tree[string] // the calls without an end and without an approval, by openKey
	decided      tree[string] // the calls without an end but with an approval, by openKey
	waiting      []string     // the approvals without a call, oldest first
	closed       []closedCall // the newest ended calls without an approval
	approvals    int
	suspensions  int
	suspension   string // the newest suspension
	faults       []string
}

// closedCall is a call that has ended. Its field `at` is the number of nodes and edges that the graph had at that time.
// This number shows whether the call ended before or after a dialog opened.
type closedCall struct {
	id string
	at int
}

// Reduce returns the graph of a log with one more event. It does not change g. The events must come
// in the order of the log. Reduce skips e if an earlier event of the same host and epoch had the
// same or a higher number.
func Reduce(g Graph, e coleo.Event) Graph {
	log := e.Host + "\x00" + e.Epoch
	if last, ok := g.logs.get(log); ok && e.Seq <= last {
		return g
	}
	g.logs = g.logs.with(log, e.Seq)
	if e.Arm == "" {
		return g // the event belongs to no arm
	}
	w := &writer{Graph: g, e: e}
	w.reduce()
	return w.Graph
}

// writer builds the next graph. It changes only its own fields, never the data behind their
// pointers, because the old graph shares this data.
type writer struct {
	Graph
	e       coleo.Event
	armNode string
	id      string    // the run's id; "" if the event belongs to no run
	run     *runState // a copy of the run's state, which the writer may change; nil if the event belongs to no run
}

func (w *writer) reduce() {
	w.armNode = w.claim(KindArm, "", "arm:"+w.e.Arm)
	w.add(w.armNode, Node{Kind: KindArm})
	w.id = w.e.Run
	if w.id == "" {
		switch w.e.Kind {
		case coleo.EventDecision, coleo.EventState, coleo.EventUnrecognised:
			// such an event does not always name its run, so take the arm's open run
			w.id, _ = w.open.get(w.e.Arm)
		default: // other events without a run's id report nothing about a run
		}
	}
	if w.id != "" {
		w.enter()
	}
	switch w.e.Kind {
	case coleo.EventRunStart:
		w.begin()
	case coleo.EventRunEnd:
		w.end()
	case coleo.EventState, coleo.EventUnrecognised:
		w.state()
	case coleo.EventDecision:
		w.addApproval()
	default:
		if w.run != nil && w.e.Kind.IsWork() {
			w.work()
		}
	}
	if w.run != nil {
		w.runs = w.runs.with(w.id, w.run)
	}
}

// enter creates the node of the event's run if there is none, and copies the run's state.
func (w *writer) enter() {
	old, ok := w.runs.get(w.id)
	if !ok {
		old = w.addRun(w.id, w.e.Parent)
	}
	state := *old
	w.run = &state
	if n := w.node(state.node); n.Prompt.Foreign {
		w.change(state.node, func(n *Node) { n.Prompt.Foreign = false })
	}
	if w.e.Kind != coleo.EventRunStart && !state.begun {
		w.fault("its first event is %s, not run_start", w.e.Kind)
		// From now on, the run counts as begun, so that the missing run_start is one fault and not one fault per
		// event.
		w.run.begun = true
	}
	if state.ended {
		w.fault("%s came after its run_end", w.e.Kind)
	}
}

// addRun creates the node of a run, and returns the new state of the run. It also creates the node
// of the run's parent if the graph does not have it.
func (w *writer) addRun(run, parent string) *runState {
	node := w.claim(KindRun, run, run)
	state := &runState{node: node, armNode: w.armNode}
	w.nodes = w.nodes.with(node, w.newNode(node, Node{Kind: KindRun, Run: run, Prompt: &Prompt{}}))
	w.runs = w.runs.with(run, state)
	if parent == "" || parent == run {
		w.connect(Edge{Kind: EdgeParent, From: node, To: w.armNode})
		return state
	}
	over, ok := w.runs.get(parent)
	if !ok {
		over = w.addRun(parent, "")
		w.change(over.node, func(n *Node) { n.Prompt.Foreign = true })
	}
	state.parentNode = over.node
	w.connect(Edge{Kind: EdgeParent, From: node, To: over.node})
	return state
}

func (w *writer) begin() {
	if w.run == nil {
		return
	}
	if w.run.begun {
		w.fault("it has a second run_start")
	}
	w.run.begun = true
	if !w.run.ended {
		w.open = w.open.with(w.e.Arm, w.id)
	}
	r, ok := decode[coleo.Receipt](w)
	if !ok {
		return
	}
	w.change(w.run.node, func(n *Node) {
		n.Prompt.Text, n.Prompt.Origin, n.Prompt.Offset = r.Text, r.Origin, r.Offset
		n.Start = w.e.Time
	})
}

func (w *writer) end() {
	if w.run == nil {
		return
	}
	w.run.ended = true
	if id, _ := w.open.get(w.e.Arm); id == w.id {
		w.open = w.open.without(w.e.Arm)
	}
	w.closeSuspension()
	var orphans []string
	for _, calls := range []tree[string]{w.run.open, w.run.decided} {
		for _, id := range calls.sortedEntries() {
			orphans = append(orphans, id)
			w.change(id, func(n *Node) { n.Call.Orphan = true })
		}
	}
	end, _ := decode[coleo.RunEnd](w)
	if end.Outcome == "" {
		end.Outcome = coleo.OutcomeOf(end.Status, false)
	}
	w.change(w.run.node, func(n *Node) {
		n.End = w.e.Time
		n.Prompt.Outcome, n.Prompt.Answer, n.Prompt.Orphans = end.Outcome, end.Answer, orphans
	})
}

// fault records that something is wrong with the log of the run.
func (w *writer) fault(format string, args ...any) {
	if len(w.run.faults) < mostFaults {
		w.run.faults = append(slices.Clip(w.run.faults),
			fmt.Sprintf("event %d of host %s: %s", w.e.Seq, w.e.Host, fmt.Sprintf(format, args...)))
	}
}

// claim returns the id for a node of the given kind and run. If a node of another kind or run
// already has the wanted id, claim appends "~" until no such node has the id. Once the node exists,
// claim returns the same id for it again.
func (w *writer) claim(kind Kind, run, id string) string {
	for {
		n, ok := w.nodes.get(id)
		if !ok || n.Kind == kind && n.Run == run {
			return id
		}
		id += "~"
	}
}

// ownID returns the id for a node of the event's run.
func (w *writer) ownID(kind Kind, id string) string { return w.claim(kind, w.id, w.id+"/"+id) }

func (w *writer) has(id string) bool { _, ok := w.nodes.get(id); return ok }

// node returns the node with the given id. The node must exist.
func (w *writer) node(id string) *Node { n, _ := w.nodes.get(id); return n }

// newNode returns a copy of n with the fields that come from the event.
func (w *writer) newNode(id string, n Node) *Node {
	w.madeCount++
	n.ID, n.Arm, n.Start, n.Source, n.number = id, w.e.Arm, w.e.Time, w.e.Source, w.madeCount
	n.Event = Key{w.e.Host, w.e.Epoch, w.e.Seq}
	return &n
}

// add creates a node of the event's run, unless there is a node with that id. It connects the node
// to its parent: its turn, its run or its arm.
func (w *writer) add(id string, n Node) {
	if w.has(id) {
		return
	}
	parent := ""
	if n.Kind != KindArm {
		parent = w.armNode
	}
	if w.run != nil {
		n.Run, parent = w.id, w.run.node
		if n.Kind != KindTurn && n.Kind != KindFile && w.e.Turn > 0 && w.e.Kind.IsWork() {
			n.Turn, parent = w.e.Turn, w.turnNode()
		}
	}
	w.nodes = w.nodes.with(id, w.newNode(id, n))
	if parent != "" {
		w.connect(Edge{Kind: EdgeParent, From: id, To: parent})
	}
}

// turnNode returns the node of the event's turn. It creates the node if the turn has none.
func (w *writer) turnNode() string {
	id := w.ownID(KindTurn, "turn:"+strconv.Itoa(w.e.Turn))
	if !w.has(id) {
		if w.e.Kind != coleo.EventTurn {
			w.fault("turn %d has not begun", w.e.Turn)
		}
		w.add(id, Node{Kind: KindTurn, Turn: w.e.Turn})
		w.connect(Edge{Kind: EdgeCaused, From: w.run.node, To: id})
	}
	return id
}

// change replaces a node with a changed copy. The function f may change the copy and the data
// behind its pointers, but it must not change a slice.
func (w *writer) change(id string, f func(*Node)) {
	n := *w.node(id)
	n.Prompt, n.Text, n.Call = copied(n.Prompt), copied(n.Text), copied(n.Call)
	n.Approval, n.Suspension, n.Subagent, n.Shell = copied(n.Approval), copied(n.Suspension), copied(n.Subagent),
		copied(n.Shell)
	f(&n)
	w.nodes = w.nodes.with(id, &n)
}

func copied[T any](p *T) *T {
	if p == nil {
		return nil
	}
	c := *p
	return &c
}

// connect adds an edge unless the graph already has it.
func (w *writer) connect(e Edge) {
	key := string(e.Kind) + "\x00" + e.From + "\x00" + e.To
	if _, ok := w.edges.get(key); ok {
		return
	}
	w.madeCount++
	e.number = w.madeCount
	w.edges = w.edges.with(key, &e)
}

// finish sets the end of a node unless the node already has an end.
func (w *writer) finish(id string, at time.Time) {
	if w.node(id).End.IsZero() {
		w.change(id, func(n *Node) { n.End = at })
	}
}

// decode returns the payload of the event. If there is no payload, or if the payload is not a T,
// decode records a fault and returns false.
func decode[T any](w *writer) (T, bool) {
	var v T
	if len(w.e.Payload) > 0 && json.Unmarshal(w.e.Payload, &v) == nil {
		return v, true
	}
	if w.run != nil {
		w.fault("the payload of %s is missing or unreadable", w.e.Kind)
	}
	var none T
	return none, false
}
