// Package brain makes the decisions for all hosts. It follows the hosts' logs into the
// store, starts arms where they can run, and carries out remedies. It also passes
// commands to the host agent that has the arm.
//
// Package brain types nothing and reads no screen. Host agents type and read.
package brain
