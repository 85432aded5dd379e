// Package limit computes when a limit of a model ends. It also plans what a parked arm does until
// then: how long the arm waits, and which alternatives it tries first. Its functions are pure: the
// caller passes the present time.
package limit
