// Package copilot drives Copilot CLI. harness.toml describes the screen of Copilot CLI.
// The code reads the record of Copilot CLI.
package copilot

import _ "embed"

// Spec is the harness's description as TOML.
//
//go:embed harness.toml
var Spec []byte
