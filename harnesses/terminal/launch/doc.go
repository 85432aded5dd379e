// Package launch prepares the start of an agent CLI. From the agent CLI's description and
// the configuration of the start, it makes the command line, the environment, and the
// files of a hermetic HOME. A holder then starts the agent CLI with them.
//
// Plan does all of this. It passes the hook by command line or environment. Some agent
// CLIs read only the last of several equal options, such as two --settings. Plan then
// merges these options into one. If the user has allowed it, and the HOME is not hermetic,
// Plan marks the work folder as trusted in one of the user's files. It writes no other
// file of the user. Package launch starts no process.
package launch
