package fakeagent

import (
	"slices"
	"testing"
)

func TestLinesAreWrappedByCells(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text string
		want []string
	}{
		{"", []string{""}},
		{"abcd", []string{"abcd"}},
		{"abcdef\n\ng", []string{"abcd", "ef", "", "g"}},
		{"a漢字b", []string{"a漢", "字b"}},
		{"漢字é", []string{"漢字", "é"}},
	}
	for _, tt := range tests {
		if got := wrap(tt.text, 4); !slices.Equal(got, tt.want) {
			t.Errorf("wrap(%q, 4) = %q, want %q", tt.text, got, tt.want)
		}
	}
}
