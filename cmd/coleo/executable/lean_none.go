//go:build !lean

package executable

// leanHolder is empty in a build without `make build`. In such a build, holders run
// coleo itself.
var leanHolder []byte
