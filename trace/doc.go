// Package trace turns the activities that an agent CLI's sources report into events of runs.
//
// A source, such as the agent CLI's own record, yields activities. A State stores how far each source
// has been read, and what the run in progress has done so far. Take adds activities to a State and
// returns the events for the log. The caller must store the State in the same write as the events.
// Then a host agent can restart, and read a source from its beginning, without logging an activity
// twice.
//
// Take and its helpers are pure: they use no clock and do no input or output.
package trace
