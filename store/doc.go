// Package store keeps what Coleo must not forget, in two SQLite databases: a
// host agent's own event log and arms (HostDB), and the fleet's view that serve
// projects from all logs (ServeDB).
//
// Both are opened by one process at a time, written by one connection and read
// by several. What a method has returned without error survives the end of the
// process; intents (see durability) survive the end of power as well.
//
// It decides nothing: health, recovery and policy are computed by others from
// what is kept here.
package store
