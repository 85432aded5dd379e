// Package launch turns an agent CLI's description and a spawn's configuration into what a
// holder needs to start it: the command line, the environment, and the files of a hermetic HOME.
//
// Plan does all of it. It passes the hook on by command line or environment, merges
// settings of which the agent CLI takes only one copy, and trusts the work folder if the
// user allowed that. Only trusting the folder writes one of the user's files, and only
// outside a hermetic HOME. Package launch starts no process.
package launch
