//go:build lean

package executable

import _ "embed"

// leanHolder is the program cmd/coleo-hold. `make build` first builds that program, and
// then this one. Only `make build` sets the build tag of this file. With another build,
// the embedded program could be out of date.
//
//go:embed coleo-hold.bin
var leanHolder []byte
