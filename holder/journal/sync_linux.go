package journal

//platform:linux Journal on the disk = fdatasync

import (
	"os"

	"golang.org/x/sys/unix"
)

// syncData writes a file's data to the disk, and the metadata that is needed to read
// the data.
func syncData(f *os.File) error { return unix.Fdatasync(int(f.Fd())) }
