// Package generic drives any program with a prompt line. All that it knows is in harness.toml.
package generic

import _ "embed"

// Spec is the harness's description as TOML.
//
//go:embed harness.toml
var Spec []byte
