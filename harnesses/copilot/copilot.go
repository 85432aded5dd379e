// Package copilot drives Copilot CLI. harness.toml describes its screen. The code reads its record.
package copilot

import _ "embed"

// Spec is the harness's description as TOML.
//
//go:embed harness.toml
var Spec []byte
