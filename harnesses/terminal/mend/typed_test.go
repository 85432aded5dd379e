package mend

import "testing"

func TestARowThatRepeatsTypedTextIsKnown(t *testing.T) {
	typed := typedTexts{"count to 12 every 150ms then say nonce1"}
	for row, want := range map[string]bool{
		"› count to 12 every 150ms then say nonce1":    true,
		"  › count to 12 every 150ms":                  true, // the row is wrapped
		"  then say nonce1":                            true,
		"│ count to 12  every 150ms then say nonce1 │": true,
		"• Working (3s • esc to interrupt)":            false,
		"to 12":                                        false, // too short to count as a repetition
		"":                                             false,
	} {
		if got := typed.repeats(row); got != want {
			t.Errorf("repeats(%q) = %v, want %v", row, got, want)
		}
	}
}
