// Package graph turns the log of runs into a graph. The graph shows who asked for what, what the agent CLI did,
// and which files it changed.
//
// Reduce is a pure function of a graph and one event. It never changes the given graph, so every prefix of a log
// has a separate graph. The old and the new graph share their equal parts. Reduce skips an event if the same host
// and epoch have already sent an event with this sequence number or a higher one. So a log that is read twice
// yields the same graph as a log that is read once.
//
// A Graph has nodes (arm, run, turn, text, thinking, call, approval, suspension, file, subagent, shell) and edges:
//
//	parent    from a node to the node that it belongs to
//	caused    from the run's prompt to a turn, and from a turn to its calls
//	answered  from an approval to the suspension and the call that it decided
//	changed   from a call to a file
//
// The id of a node is RUN/ID, where ID is unique in the run. The id of a run's node is the run's id. Calls and
// texts keep the ids of their events.
//
// A log can be wrong: events can be missing, foreign or unreadable. Reduce then records a fault of the run and
// continues. Valid returns the faults. Reduce never invents the end of a call. If a call has no end when its run
// ends, Reduce marks the call as an orphan.
//
// Graph.Document, Graph.Dot and Graph.Text render a graph. Search and Why find the call that wrote a line of a
// file.
//
// The package imports only the root package, and does no input or output.
package graph
