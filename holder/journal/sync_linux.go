package journal

//platform:linux Journal on the disk = fdatasync

import (
	"os"

	"golang.org/x/sys/unix"
)

// syncData writes a file's data to the disk. It also writes the metadata without which the data could not
// be read, such as the file's size.
func syncData(f *os.File) error { return unix.Fdatasync(int(f.Fd())) }
