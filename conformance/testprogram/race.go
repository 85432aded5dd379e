//go:build race

package testprogram

const underRace = true
