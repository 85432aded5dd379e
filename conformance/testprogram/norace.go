//go:build !race

package testprogram

const underRace = false
