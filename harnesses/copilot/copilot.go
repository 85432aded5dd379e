// Package copilot drives Copilot CLI. All that it knows is in harness.toml.
package copilot

import _ "embed"

// Spec is the harness's description as TOML.
//
//go:embed harness.toml
var Spec []byte
