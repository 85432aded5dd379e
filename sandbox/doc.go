// Package sandbox says what an agent CLI sees in its sandbox, and builds the command line
// that makes the sandbox. It finds the files of programs, and finds out which sandboxes a
// machine can make. It starts no agent CLI.
//
// What is not listed is not there. A Box lists all that a program sees of the machine. The
// program in the folder inside is part of each command line.
package sandbox

//platform:linux Sandboxes of arms = bubblewrap, in namespaces of their own
