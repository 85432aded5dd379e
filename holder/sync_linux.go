package holder

import (
	"os"

	"golang.org/x/sys/unix"
)

// syncData brings a file's data to the disk, and of the rest what finds it.
func syncData(f *os.File) error { return unix.Fdatasync(int(f.Fd())) }
