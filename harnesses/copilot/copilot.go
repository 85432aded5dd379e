// Package copilot drives Copilot CLI. harness.toml describes it completely.
package copilot

import _ "embed"

// Spec is the harness's description as TOML.
//
//go:embed harness.toml
var Spec []byte
