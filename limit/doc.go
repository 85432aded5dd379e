// Package limit computes when a limit of a model ends, and plans how a parked arm waits for
// that. Its functions are pure: each takes the time as a parameter.
package limit
