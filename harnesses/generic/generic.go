// Package generic drives any program with a prompt line. harness.toml describes it
// completely.
package generic

import _ "embed"

// Spec is the harness's description as TOML.
//
//go:embed harness.toml
var Spec []byte
