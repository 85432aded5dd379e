//go:build !linux

package journal

//platform:macos Journal on the disk = fsync

import "os"

// syncData makes the kernel write a file's data and metadata to the disk.
func syncData(f *os.File) error { return f.Sync() }
