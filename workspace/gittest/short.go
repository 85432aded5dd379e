package gittest

import "testing"

// This file says what tests leave out with -short, which `make test-short` sets.

// shortPart reduces the number of kills with -short to one in shortPart. Otherwise the kills would take
// most of the time of `make test-short`.
const shortPart = 6

// Repeats returns how often a test should repeat a kill that it normally repeats n times. With -short, the
// number is smaller than n, but at least 1.
func Repeats(n int) int {
	if testing.Short() {
		return min(n, 1+n/shortPart)
	}
	return n
}

// shortCases reduces the costly part of a table of cases with -short to one case in shortCases.
const shortCases = 3

// Costly reports whether a test should also carry out the costly part of the case with the given number. With
// -short, it is true for each third case only. A test must check what matters most before it asks.
func Costly(number int) bool { return !testing.Short() || number%shortCases == 0 }
