// Package host is the host agent. It has the sessions, states and event log of the arms
// of one machine.
//
// The host agent may be killed at any moment. When it starts again, it finds the holders
// of its arms, attaches to those that prove who they are, and goes on. It makes no
// decision about an arm that needs a remedy: the brain decides and sends an order.
package host
