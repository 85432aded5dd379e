package verb

import (
	"errors"
	"fmt"
	"io/fs"
)

// Counted returns a number with a noun, such as "1 file" or "2 files".
func Counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Cause returns the reason of a file system error, without the system call and the path.
func Cause(err error) error {
	var e *fs.PathError
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}
