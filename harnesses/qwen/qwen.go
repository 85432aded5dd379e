// Package qwen drives Qwen Code. harness.toml describes the screen of Qwen Code. The
// code reads the record of Qwen Code.
package qwen

import _ "embed"

// Spec is the harness's description as TOML.
//
//go:embed harness.toml
var Spec []byte
