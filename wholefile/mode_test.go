package wholefile

import (
	"io/fs"
	"testing"
)

func TestAModeIsClosedOnlyIfOthersHaveNoRight(t *testing.T) {
	t.Parallel()
	for mode, want := range map[fs.FileMode]bool{
		OwnerOnly: false, 0o700: false, fs.ModeDir | 0o700: false, fs.ModeSocket | 0o600: false,
		0o640: true, 0o620: true, 0o610: true, 0o604: true, 0o602: true, 0o601: true, fs.ModeDir | 0o701: true,
	} {
		if got := OpenToOthers(mode); got != want {
			t.Errorf("OpenToOthers(%v) = %t, want %t", mode, got, want)
		}
	}
}
