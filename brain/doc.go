// Package brain decides for all hosts: it follows their logs into the store,
// starts arms where they can run, carries out remedies, and passes commands on
// to the host agent that holds the arm.
//
// It types nothing and reads no screen: host agents do.
package brain
