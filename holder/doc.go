// Package holder contains the process that keeps one arm's pseudo-terminal alive, and the client
// with which the host agent talks to that process.
//
// A holder owns the master of the pseudo-terminal, and the agent CLI's process tree. It writes each
// byte of output to a journal on disk before it does anything else with the byte. The holder also
// listens on a socket. The journal and the socket are in the holder's folder. A holder never
// interprets output, so an old holder never needs an update. The protocol is in protocol.go and in
// docs/holder-protocol.md.
//
// A holder does not read screens, does not know harnesses, and makes no decisions.
package holder
