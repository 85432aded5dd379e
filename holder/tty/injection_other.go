//go:build !linux

package tty

//platform:macos Typing into its own terminal (TIOCSTI) = is not prevented

// WithoutInjection only calls `start`. On this system a program can type into its own terminal.
func WithoutInjection(_ bool, start func() error) error { return start() }
