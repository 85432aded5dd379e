//go:build !linux

package git

// boundMemory does nothing, because this system bounds no process that has started.
func boundMemory(int) error { return nil }

// hollowFile returns "", because this system does not say which files a process has open.
func hollowFile(int) string { return "" }
