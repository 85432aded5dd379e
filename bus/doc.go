// Package bus carries orders, heartbeats and news of events between host agents and
// serve. It uses a NATS server that is embedded in serve and listens on a unix socket.
//
// The bus stores nothing. What must not be lost is in the host agents' logs, which serve
// follows by cursor. If a message is lost, the next one makes up for it.
package bus
