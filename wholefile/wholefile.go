// Package wholefile replaces files in one step, and opens files that may have become pipes. It checks whether a file's
// mode keeps other users out, and locks files against changes by other processes.
package wholefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
)

// Replace replaces the content of a file. A reader finds either the whole old content or the whole new content, even
// after a loss of power. After Replace has returned nil, the new content is on the disk. If it returns an error, the
// file has one of the two contents. The folder of the file must exist. The new file has exactly the given mode,
// because Replace ignores the umask.
func Replace(path string, content []byte, mode fs.FileMode) error {
	folder := filepath.Dir(path)
	err := renameio.WriteFile(path, content, mode, renameio.WithTempDir(folder), renameio.IgnoreUmask())
	if err == nil {
		err = syncFolder(folder) // without this, a loss of power could bring the old content back
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
