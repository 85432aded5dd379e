// Package limit computes when a limit of a model ends. It also plans what an arm that has met the limit does
// until then: how long the arm waits (is parked), and which alternatives it tries first. Its functions are
// pure: the caller passes the present time.
package limit
