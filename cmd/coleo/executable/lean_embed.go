//go:build lean

package executable

import _ "embed"

// leanHolder is the program cmd/coleo-hold, built just before this one. Only `make build`
// sets this build tag, so that no outdated program is embedded.
//
//go:embed coleo-hold.bin
var leanHolder []byte
