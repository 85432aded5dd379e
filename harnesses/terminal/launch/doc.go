// Package launch prepares the start of an agent CLI. From the agent CLI's description
// and the configuration of the start, it makes the command line, the environment, and
// the files of a hermetic HOME. A holder then starts the agent CLI with them.
//
// Plan does all of this. It passes the hook by the command line or by the environment.
// If an option such as --settings is on the command line several times, some agent CLIs
// read only the last one. For these agent CLIs, Plan merges the options into one.
//
// Plan can also mark the work folder as trusted in one of the user's files. It does so
// only if the user has allowed it and the HOME is not hermetic. It writes no other file
// of the user. Package launch starts no process.
package launch
