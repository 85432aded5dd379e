// Package continuecli drives Continue's terminal program. harness.toml describes the
// program completely.
package continuecli

import _ "embed"

// Spec is the harness's description as TOML.
//
//go:embed harness.toml
var Spec []byte
