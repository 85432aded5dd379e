package gittest

import "testing"

// This file says what tests leave out with -short, which `make test-short` sets.

// shortPart makes tests faster with -short: a test then carries out only one of shortPart kills. Otherwise the kills
// would take most of the time of `make test-short`.
const shortPart = 6

// Repeats returns how often a test should repeat a kill that it normally repeats n times. With -short, the
// number is smaller than n, but at least 1.
func Repeats(n int) int {
	if testing.Short() {
		return min(n, 1+n/shortPart)
	}
	return n
}

// shortCases makes tests faster with -short: a test then carries out the costly part of only one of shortCases cases.
const shortCases = 3

// Costly reports whether a test should also carry out the costly part of the case with the given number. With -short,
// it is true for each third case only. So before a test calls Costly, it must check what matters most.
func Costly(number int) bool { return !testing.Short() || number%shortCases == 0 }
