// Package launch turns an agent CLI's description and a spawn's configuration into what a
// holder runs: the command line, the environment, and the files of a hermetic HOME.
//
// Plan does all of it. It passes the hook on by command line or environment, joins
// settings that the agent CLI reads only once, and trusts the work folder where the user
// allowed that. Outside a hermetic HOME that last step is the only one that writes a file
// of the user's. Package launch starts no process.
package launch
