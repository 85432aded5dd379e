// Package host is the host agent: the sessions, states and event log of the
// arms of one machine.
//
// It may be killed at any moment. When it starts it finds the holders of its
// arms, takes up those that prove who they are, and goes on. It decides
// nothing about arms that need a remedy: the brain does, and orders it.
package host
