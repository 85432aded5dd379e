// Package coleo defines the vocabulary of Coleo: arms, harnesses, sessions, states,
// screens, events and health. It also defines the contract that every harness must
// fulfill.
//
// The package starts no process, opens no file, and imports only the standard library.
package coleo
