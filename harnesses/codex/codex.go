// Package codex drives what its harness.toml describes.
package codex

import _ "embed"

// Spec is the harness's description as TOML.
//
//go:embed harness.toml
var Spec []byte
