//go:build !lean

package executable

// leanHolder is empty in a build without make. Holders then run this program.
var leanHolder []byte
