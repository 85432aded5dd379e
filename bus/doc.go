// Package bus carries orders, heartbeats and news of events between host agents and
// serve. It uses a NATS server that is embedded in serve and listens on a unix socket.
//
// The bus stores nothing. Everything that must not be lost is in the logs of the host
// agents. Serve reads these logs from a cursor on. If the bus loses a message, the next
// message makes up for it.
package bus
