// Package store keeps what Coleo must not forget, in two SQLite databases. HostDB is a
// host agent's event log and its arms. ServeDB is serve's view of all hosts, projected
// from their logs.
//
// One process at a time opens a database. One connection writes and several read. When a
// method has returned without an error, its write survives the end of the process. An
// intent (see durability) also survives a power failure.
//
// The package makes no decisions. Other packages compute health, recovery and policy from
// its data.
package store
