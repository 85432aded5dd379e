package journal

import (
	"os"

	"golang.org/x/sys/unix"
)

// syncData writes a file's data to the disk, and the metadata that is needed to read it.
func syncData(f *os.File) error { return unix.Fdatasync(int(f.Fd())) }
