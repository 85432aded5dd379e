// Package roo describes Roo Code's terminal program. harness.toml describes it
// completely.
package roo

import _ "embed"

// Spec is the harness's description as TOML.
//
//go:embed harness.toml
var Spec []byte
