// Package launch prepares the start of an agent CLI, but starts no process. Its main function, Plan,
// reads the agent CLI's description and the configuration of the start. It returns the holder.Launch
// with which a holder starts the agent CLI: the command line, the environment and the work folder.
//
// The agent CLI uses the user's own HOME or a hermetic HOME, which belongs to the arm alone. Plan
// writes the first files of a hermetic HOME, and the files of the start that a sandbox needs. In the
// user's own HOME, Plan writes at most one file: it marks the work folder as trusted if the user has
// allowed it.
//
// Plan adds Coleo's hook to the command line, to the environment, or to a file of a hermetic HOME. If
// the command line repeats an option such as --settings, some agent CLIs use only the last one. For
// them, Plan merges the options into one.
package launch
