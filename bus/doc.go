// Package bus carries orders, beats (signs of life) and news about logs between host agents and
// serve. It connects to a NATS server, which package busserver contains.
//
// The bus stores nothing. Everything that must not be lost is in the logs of the hosts. Serve has a
// cursor for each log, and reads the events after the cursor. If the bus loses a message about a log,
// serve reads the missed events after the next message.
package bus
