// Package generic drives any program with a prompt line. harness.toml contains the whole
// description of the program.
package generic

import _ "embed"

// Spec is the harness's description as TOML.
//
//go:embed harness.toml
var Spec []byte
