// Package sandbox decides what an agent CLI sees in its sandbox, and builds the command line that
// makes the sandbox. It finds the files that a program needs, and tests whether the machine can
// make sandboxes. It starts no agent CLI.
//
// A Box lists everything that a program sees of the machine. Everything else is invisible in the
// sandbox. Each command line also runs one of Coleo's small programs, which are in the package
// sandbox/inside.
package sandbox

//platform:linux Sandboxes of arms = bubblewrap, in namespaces of their own
