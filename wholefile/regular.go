package wholefile

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// ErrNotRegular is the error of OpenRegular for a path that leads to something else than a regular file.
var ErrNotRegular = errors.New("it is not a regular file")

// OpenRegular opens a regular file for reading. It is for a file that an agent CLI may have replaced. A program that
// opens or reads a pipe can wait forever, so OpenRegular opens the file without waiting. It returns ErrNotRegular for a
// pipe, a device or a folder. It follows symbolic links.
func OpenRegular(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("read %s: %w", path, ErrNotRegular)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}
