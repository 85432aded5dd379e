// Package host is the host agent. It has the sessions, states and event log of the arms
// of one machine.
//
// The host agent may be killed at any moment. When a host agent starts, it finds the
// holders of its arms. It attaches to the holders that prove their identity, and
// continues. If an arm needs a remedy, the host agent does not decide what to do. The
// brain decides and sends an order.
package host
