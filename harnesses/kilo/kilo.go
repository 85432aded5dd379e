// Package kilo drives Kilo CLI, a fork of OpenCode. harness.toml describes how Kilo CLI
// differs from OpenCode.
package kilo

import _ "embed"

// Spec is the harness's description as TOML.
//
//go:embed harness.toml
var Spec []byte
