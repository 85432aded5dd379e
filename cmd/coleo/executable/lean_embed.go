//go:build lean

package executable

import _ "embed"

// leanHolder is the program cmd/coleo-hold. `make build` first builds cmd/coleo-hold
// and then this program. Only `make build` sets the build tag of this file, because any
// other build could embed an outdated coleo-hold.
//
//go:embed coleo-hold.bin
var leanHolder []byte
