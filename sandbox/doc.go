// Package sandbox decides what an agent CLI sees in its sandbox, and builds the command line that
// makes the sandbox. It finds the files that a program needs, and tests whether the machine can
// make sandboxes. It starts no agent CLI.
//
// A Box lists everything that a program sees of the machine. Anything else does not exist inside.
// Each command line also runs a program of package inside.
package sandbox

//platform:linux Sandboxes of arms = bubblewrap, in namespaces of their own
