// Package limit computes when a limit of a model ends. It plans how long a parked arm waits, and
// which alternatives to waiting the arm tries. Its functions are pure: each takes the time as a
// parameter.
package limit
