// Package coleo defines the vocabulary of Coleo: arms, harnesses, sessions, states,
// screens, events and health. It also defines the contract of every harness.
//
// It starts no process, opens no file, and imports only the standard library.
package coleo
