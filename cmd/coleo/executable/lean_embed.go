//go:build lean

package executable

import _ "embed"

// leanHolder is the program cmd/coleo-hold. `make build` first builds coleo-hold and
// then coleo. Only `make build` sets the build tag of this file, so that no other build
// can embed an outdated coleo-hold.
//
//go:embed coleo-hold.bin
var leanHolder []byte
