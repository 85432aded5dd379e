package conformance

import (
	"testing"

	"coleo.dev"
)

func TestASizeIsColumnsAndRows(t *testing.T) {
	t.Parallel()
	if got, err := ParseSize("80x24"); err != nil || got != (Size{Cols: 80, Rows: 24}) {
		t.Errorf("ParseSize(80x24) = %+v, %v", got, err)
	}
	for _, bad := range []string{"", "80", "x", "80x", "x24", "80x24x1", "80X24", "-80x24", "80x-24", "0x0", "19x24",
		"80x4", "1001x24", "80x1001", "8e1x24", " 80x24", "99999999999999999999x24"} {
		if got, err := ParseSize(bad); coleo.ErrorCode(err) != coleo.EInvalid {
			t.Errorf("ParseSize(%q) = %+v, %v, want it refused", bad, got, err)
		}
	}
}
