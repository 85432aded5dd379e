// Package holder contains the process that keeps one arm's pseudo-terminal alive, and the
// client through which the host agent uses it.
//
// A holder owns the master of the pseudo-terminal and the agent CLI's process tree. It
// writes every byte of output to a journal on disk before it does anything else with that
// byte. It also serves a socket beside the journal. It never parses output, so an old
// holder never needs an update. Its protocol is in protocol.go and in
// docs/holder-protocol.md.
//
// A holder does not read screens, know harnesses, or make decisions.
package holder
