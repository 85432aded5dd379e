// Package qwen drives Qwen Code. harness.toml describes it completely.
package qwen

import _ "embed"

// Spec is the harness's description as TOML.
//
//go:embed harness.toml
var Spec []byte
