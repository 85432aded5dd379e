package journal

//platform:linux Journal on the disk = fdatasync

import (
	"os"

	"golang.org/x/sys/unix"
)

// syncData brings a file's data to the disk, and the metadata that a reader of the data needs.
func syncData(f *os.File) error { return unix.Fdatasync(int(f.Fd())) }
