// Package qwen drives Qwen Code. harness.toml describes its screen. The code reads its record.
package qwen

import _ "embed"

// Spec is the harness's description as TOML.
//
//go:embed harness.toml
var Spec []byte
