// Package roo describes Roo Code's terminal program. harness.toml contains the whole
// description.
package roo

import _ "embed"

// Spec is the harness's description as TOML.
//
//go:embed harness.toml
var Spec []byte
