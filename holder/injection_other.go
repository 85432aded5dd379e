//go:build !linux

package holder

// startWithoutInjection calls start. On this system nothing keeps a program from typing
// into its own terminal.
func startWithoutInjection(_ bool, start func() error) error { return start() }
