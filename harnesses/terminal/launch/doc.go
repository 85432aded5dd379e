// Package launch prepares the start of an agent CLI. Its main function, Plan, takes the agent CLI's
// description and the configuration of the start. It returns the holder.Launch with which a holder
// starts the agent CLI: the command line, the environment and the work folder. Package launch itself
// starts no process.
//
// Plan adds Coleo's hook to the command line, to the environment, or to a file of a hermetic HOME. Some
// agent CLIs read an option such as --settings only once, from its last place on the command line. For
// these agent CLIs, Plan merges the options into one.
//
// Plan writes the first files of a hermetic HOME, and the files of the start that a sandbox needs. If
// HOME is the user's own, Plan writes at most one file there: it marks the work folder as trusted if
// the user has allowed it.
package launch
