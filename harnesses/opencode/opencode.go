// Package opencode drives OpenCode's terminal program. What it knows of its
// screen is in harness.toml.
package opencode

import _ "embed"

// Spec is the harness's description as TOML.
//
//go:embed harness.toml
var Spec []byte
