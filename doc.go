// Package coleo is the vocabulary of Coleo: arms, harnesses, sessions, states,
// screens, events and health, and the contract that every harness keeps.
//
// It starts no process, opens no file and imports the standard library only.
package coleo
