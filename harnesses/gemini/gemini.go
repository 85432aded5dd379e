// Package gemini drives what its harness.toml describes.
package gemini

import _ "embed"

// Spec is the harness's description as TOML.
//
//go:embed harness.toml
var Spec []byte
