// Package limit knows when a limit of a model ends, and what a parked arm does then. Its
// functions are pure: each takes the time as a parameter.
package limit
