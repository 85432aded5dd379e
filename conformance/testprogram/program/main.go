// Command program is the small program of package testprogram.
package main

import (
	"fmt"
	"os"

	"coleo.dev/conformance/testprogram"
)

func main() {
	testprogram.Play(os.Args)
	fmt.Fprintf(os.Stderr, "%q names no role of a test\n", os.Args)
	os.Exit(1)
}
