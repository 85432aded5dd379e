package coleo

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"
)

// TestAnErrorKeepsWhatItWraps checks that an Error unwraps to the error that it wraps, and that its
// own code comes before the code of the wrapped error.
func TestAnErrorKeepsWhatItWraps(t *testing.T) {
	t.Parallel()
	inner := Errorf(ENotFound, "no file: %w", fs.ErrNotExist)
	err := fmt.Errorf("read: %w", Errorf(EInvalid, "the settings: %w", inner))
	if !errors.Is(err, fs.ErrNotExist) || ErrorCode(err) != EInvalid ||
		err.Error() != "read: the settings: no file: file does not exist" {
		t.Errorf("%q has code %s, and wraps a missing file: %t", err, ErrorCode(err), errors.Is(err, fs.ErrNotExist))
	}
	if Errorf(EInvalid, "alone").Unwrap() != nil {
		t.Error("an error that wraps nothing unwraps to something")
	}
}
