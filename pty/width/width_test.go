package width

import "testing"

func TestPropertyRangesAreInOrder(t *testing.T) {
	t.Parallel()
	last := rune(-1)
	for _, r := range propertyRanges() {
		if r.lo <= last || r.hi < r.lo || r.hi > 0x10ffff || r.property&kindMask > kindPictograph {
			t.Errorf("range %x-%x (%d) after %x", r.lo, r.hi, r.property, last)
		}
		last = r.hi
	}
}
