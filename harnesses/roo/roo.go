// Package roo describes Roo Code's terminal program. All that it knows is in harness.toml.
package roo

import _ "embed"

// Spec is the harness's description as TOML.
//
//go:embed harness.toml
var Spec []byte
