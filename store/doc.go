// Package store stores the data that Coleo must not forget in two SQLite databases.
// HostDB has a host agent's event log and arms. ServeDB has serve's view of all hosts.
// This view is computed from the logs of the hosts.
//
// Only one process at a time can open a database. One connection writes, and several
// connections read. If a method returns without an error, its write survives the end of
// the process. An intent also survives a power failure: see durability.
//
// The package makes no decisions. Other packages compute health, recovery and policy
// from the stored data.
package store
