// Package launch turns an agent CLI's description and a spawn's configuration into what
// a holder needs to start the agent CLI. That is the command line, the environment, and
// the files of a hermetic HOME.
//
// Plan does all of this. It passes the hook by command line or environment. If the
// agent CLI reads settings from only one copy of an option, Plan merges the copies. It
// marks the work folder as trusted if the user allowed that. To mark the folder as
// trusted, Plan writes one of the user's files, and only outside a hermetic HOME. It
// writes no other file of the user. Package launch starts no process.
package launch
