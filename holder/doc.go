// Package holder is the process that keeps one arm's pseudo-terminal alive,
// and the client that the host agent speaks to it with.
//
// A holder owns the PTY master and the agent CLI's process tree, writes every
// byte of output to a journal on disk before it does anything else with it,
// and serves a socket beside the journal. It never parses a byte, so it never
// needs to be newer than it is; what it speaks is in protocol.go and in
// docs/holder-protocol.md.
//
// It does not read screens, know harnesses, or decide anything.
package holder
