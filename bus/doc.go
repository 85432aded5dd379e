// Package bus carries commands, heartbeats and word of new events between
// host agents and serve, over NATS: one embedded in serve on loopback, or a
// cluster of the user's own.
//
// Nothing is kept on the bus. What must not be lost is in the host agents'
// logs, which serve follows by cursor; a message that gets lost is noticed by
// the next one.
package bus
