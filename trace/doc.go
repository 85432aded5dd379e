// Package trace turns what an agent CLI's sources tell into the events of runs.
//
// A source, such as the agent CLI's own record, yields activities. A State knows how far
// each source has been read, and what the run in progress has done so far. Take adds
// activities to a State and returns the events for the log. The State is stored in the
// same write as the events. So a host agent that comes back, and reads a source from its
// beginning, tells nothing twice.
//
// Take and its helpers are pure. They have no clock and do no input or output.
package trace
