package graph

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"coleo.dev/printable"
)

// widest is the largest number of characters of a text that Text and Dot show in one line.
const widest = 60

// Text returns the graph as a tree: see Document.Text.
func (g Graph) Text() string { return g.Document().Text() }

// Dot returns the graph in the language of Graphviz.
func (g Graph) Dot() string { return g.Document().Dot() }

// Text returns the graph as a tree for people. The tree has one line per node. Below a node are the
// nodes that belong to it, in the order of the log.
func (d Document) Text() string {
	below := map[string][]string{}
	nodes := map[string]*Node{}
	place := map[string]int{}
	for i := range d.Nodes {
		nodes[d.Nodes[i].ID], place[d.Nodes[i].ID] = &d.Nodes[i], i
	}
	for _, e := range d.Edges {
		if e.Kind == EdgeParent {
			below[e.To] = append(below[e.To], e.From)
		}
	}
	for _, ids := range below {
		slices.SortFunc(ids, func(a, b string) int { return place[a] - place[b] })
	}
	var out strings.Builder
	var walk func(id, indent string)
	walk = func(id, indent string) {
		for i, child := range below[id] {
			mark, deeper := "├─ ", "│  "
			if i == len(below[id])-1 {
				mark, deeper = "└─ ", "   "
			}
			out.WriteString(indent + mark + nodes[child].line() + "\n")
			walk(child, indent+deeper)
		}
	}
	for i := range d.Nodes {
		if d.Nodes[i].Kind == KindArm {
			out.WriteString(d.Nodes[i].line() + "\n")
			walk(d.Nodes[i].ID, "")
		}
	}
	return out.String()
}

// line describes the node in one line.
func (n *Node) line() string {
	switch n.Kind {
	case KindArm:
		return "arm " + oneLine(n.Arm)
	case KindRun:
		return n.runLine()
	case KindTurn:
		return strings.TrimSpace(fmt.Sprintf("turn %d %s", n.Turn, oneLine(n.Model)))
	case KindText, KindThinking:
		return fmt.Sprintf("%s: %q", n.Kind, oneLine(n.Text.Text))
	case KindCall:
		return n.callLine()
	case KindApproval:
		line := fmt.Sprintf("approval: %s %q", n.Approval.Choice, oneLine(n.Approval.Title))
		if n.Approval.Policy != "" {
			line += fmt.Sprintf(", by the policy (%s)", oneLine(n.Approval.Policy))
		}
		if n.Approval.Call != "" {
			line += fmt.Sprintf(", for call %s (by its %s)", oneLine(rawID(n.Approval.Call, n.Run)), n.Approval.Matched)
		}
		return line
	case KindSuspension:
		return fmt.Sprintf("asks: %q, %s", oneLine(n.Suspension.Title), n.suspensionState())
	case KindFile:
		return "changed " + oneLine(n.Path)
	case KindShell:
		line := "! " + oneLine(n.Shell.Command)
		if !n.Shell.Done {
			return line + " → runs"
		}
		if c := n.Shell.ExitCode; c != nil {
			line += fmt.Sprintf(" → exit code %d", *c)
		}
		return line + n.duration()
	case KindSubagent:
		return strings.TrimRight(fmt.Sprintf("subagent %s: %q %s", oneLine(n.Subagent.Type), oneLine(n.Subagent.Task),
			n.Subagent.Outcome), " ")
	}
	return string(n.Kind)
}

func (n *Node) suspensionState() string {
	switch {
	case n.Suspension.Answered:
		return "answered"
	case n.End.IsZero():
		return "waits for an answer"
	}
	return "gone"
}

func (n *Node) runLine() string {
	p := n.Prompt
	if p.Foreign {
		return fmt.Sprintf("run %s, which is not in this graph", oneLine(n.ID))
	}
	how := "is open"
	if !n.End.IsZero() {
		how = string(p.Outcome) + n.duration()
	}
	line := fmt.Sprintf("run %s %s: %q", oneLine(n.ID), how, oneLine(p.Text))
	if len(p.Orphans) > 0 {
		line += fmt.Sprintf(", %d of its calls have no end", len(p.Orphans))
	}
	return line
}

func (n *Node) callLine() string {
	c := n.Call
	what := c.Command
	if what == "" {
		what = strings.Join(c.Files, " ")
	}
	line := oneLine(c.Name)
	if what != "" {
		line += ": " + oneLine(what)
	}
	if c.Malformed {
		line += " (malformed arguments)"
	}
	switch {
	case c.Orphan:
		return line + " → no end"
	case c.Result == nil:
		return line + " → runs"
	}
	line += " → " + string(c.Result.Status)
	if why := c.Result.Reason + c.Result.Error; why != "" {
		line += fmt.Sprintf(" %q", oneLine(why))
	}
	if c.Result.ExitCode != nil && *c.Result.ExitCode != 0 {
		line += fmt.Sprintf(", exit code %d", *c.Result.ExitCode)
	}
	return line + n.duration()
}

// duration returns how long the node took, in the form " in 2s". It returns "" if the node has not ended, or
// if its start and end are equal.
func (n *Node) duration() string {
	d := n.End.Sub(n.Start)
	if n.End.IsZero() || d <= 0 {
		return ""
	}
	if d > 10*time.Second {
		return " in " + d.Round(time.Second).String()
	}
	return " in " + d.Round(10*time.Millisecond).String()
}

// rawID returns the id of a node without the id of its run.
func rawID(id, run string) string { return strings.TrimPrefix(id, run+"/") }

// oneLine returns s in one line, without invisible characters. It cuts a text that is longer than the
// constant widest.
func oneLine(s string) string {
	s = printable.Line(s)
	if r := []rune(s); len(r) > widest {
		return string(r[:widest-1]) + "…"
	}
	return s
}

// Dot returns the graph in the language of Graphviz.
func (d Document) Dot() string {
	var out strings.Builder
	out.WriteString("digraph runs {\n\trankdir=LR;\n\tnode [shape=box];\n")
	for i := range d.Nodes {
		n := &d.Nodes[i]
		fmt.Fprintf(&out, "\t%s [label=%s];\n", quoted(n.ID), quoted(n.line()))
	}
	for _, e := range d.Edges {
		label := string(e.Kind)
		if e.Matched != "" {
			label += " by " + string(e.Matched)
		}
		fmt.Fprintf(&out, "\t%s -> %s [label=%s];\n", quoted(e.From), quoted(e.To), quoted(label))
	}
	out.WriteString("}\n")
	return out.String()
}

// quoted returns s as a string of the Graphviz language, without invisible characters.
func quoted(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
