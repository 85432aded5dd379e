// Package host is the host agent. It has the sessions, the states and the event log of
// the arms on one machine.
//
// A host agent can be killed at any moment. The next host agent finds the holders of
// the arms, attaches to those that prove their identity, and continues. If an arm needs
// a remedy, the brain chooses the remedy and sends an order to the host agent.
package host
