//go:build !lean

package executable

// leanHolder is empty in a build without make. This whole program is then the holder.
var leanHolder []byte
