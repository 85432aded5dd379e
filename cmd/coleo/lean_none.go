//go:build !lean

package main

// leanHolder is not there in a build without make: this whole program is the
// holder then.
var leanHolder []byte
