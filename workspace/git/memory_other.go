//go:build !linux

package git

// boundedMemory returns the same command line, because this system bounds no memory.
func boundedMemory(argv []string) []string { return argv }

// hollowFile returns "", because this system does not say which files a process has open.
func hollowFile(int) string { return "" }
