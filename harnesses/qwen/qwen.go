// Package qwen drives Qwen Code. All that it knows is in harness.toml.
package qwen

import _ "embed"

// Spec is the harness's description as TOML.
//
//go:embed harness.toml
var Spec []byte
