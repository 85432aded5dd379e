// Package continuecli drives Continue's terminal program. All that it knows is in harness.toml.
package continuecli

import _ "embed"

// Spec is the harness's description as TOML.
//
//go:embed harness.toml
var Spec []byte
