// Package brain makes the decisions for all hosts. It reads the hosts' logs into the
// store, starts arms on hosts that can run them, and carries out remedies. It also
// sends the commands of callers to the host agents of the arms.
//
// Package brain types nothing and reads no screen. Host agents do both.
package brain
