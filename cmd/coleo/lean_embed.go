//go:build lean

package main

import _ "embed"

// leanHolder is the program cmd/coleo-hold, built just before this one. The
// tag is set by `make build` alone, so that no stale one is ever embedded.
//
//go:embed coleo-hold.bin
var leanHolder []byte
