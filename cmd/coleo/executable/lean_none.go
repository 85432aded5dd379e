//go:build !lean

package executable

// leanHolder is empty in a build without `make build`. Holders then run coleo itself.
var leanHolder []byte
