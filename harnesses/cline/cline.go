// Package cline drives Cline's terminal program. harness.toml describes the program
// completely.
package cline

import _ "embed"

// Spec is the harness's description as TOML.
//
//go:embed harness.toml
var Spec []byte
