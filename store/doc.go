// Package store keeps the data that Coleo must not forget, in two SQLite databases.
// HostDB has the event log and the arms of one host agent. ServeDB has serve's view of
// all hosts. Serve computes this view from the logs of the hosts.
//
// Only one process at a time can open a database. In this process, one connection
// writes and several connections read. After a method has returned without an error,
// its write survives the end of the process. If the write is an intent, it also
// survives a power failure: see durability.
//
// The package makes no decisions. Other packages compute health, recovery and policy
// from the stored data.
package store
