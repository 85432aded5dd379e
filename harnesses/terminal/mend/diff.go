package mend

import (
	"fmt"
	"strings"
)

// diffContext is how many unchanged lines a diff shows before and after a change.
const diffContext = 3

// line is one line of a diff.
type line struct {
	sign byte // '-' for a removed line, '+' for an added line, ' ' for a common line
	text string
	a, b int // the number of this line in each text; if a text lacks the line, the number of its next line
}

// Diff returns the difference between two texts as a unified diff, or "" if the texts are equal.
func Diff(file, old, changed string) string {
	if old == changed {
		return ""
	}
	lines := compare(strings.SplitAfter(old, "\n"), strings.SplitAfter(changed, "\n"))
	var b strings.Builder
	fmt.Fprintf(&b, "--- %s\n+++ %s (proposed)\n", file, file)
	for at := 0; at < len(lines); {
		if lines[at].sign == ' ' {
			at++
			continue
		}
		from, end := max(0, at-diffContext), hunkEnd(lines, at)
		writeHunk(&b, lines[from:end])
		at = end
	}
	return b.String()
}

// hunkEnd finds the hunk that contains the change at lines[at]. It returns the index after the last line
// of this hunk.
func hunkEnd(lines []line, at int) int {
	last := at
	for i := at; i < len(lines) && i <= last+2*diffContext; i++ {
		if lines[i].sign != ' ' {
			last = i
		}
	}
	return min(len(lines), last+1+diffContext)
}

func writeHunk(b *strings.Builder, lines []line) {
	removed, added := 0, 0
	for _, l := range lines {
		if l.sign != '+' {
			removed++
		}
		if l.sign != '-' {
			added++
		}
	}
	fmt.Fprintf(b, "@@ -%d,%d +%d,%d @@\n", lines[0].a, removed, lines[0].b, added)
	for _, l := range lines {
		fmt.Fprintf(b, "%c%s\n", l.sign, strings.TrimSuffix(l.text, "\n"))
	}
}

// compare returns the lines of both texts as one list. It puts an unchanged line into the list only
// once. Both texts keep the order of their lines.
func compare(a, b []string) []line {
	if n := len(a); n > 0 && a[n-1] == "" {
		a = a[:n-1]
	}
	if n := len(b); n > 0 && b[n-1] == "" {
		b = b[:n-1]
	}
	common := make([][]int, len(a)+1) // common[i][j] is the number of common lines in a[i:] and b[j:]
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if common[i][j] = max(common[i+1][j], common[i][j+1]); a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			}
		}
	}
	var out []line
	for i, j := 0, 0; i < len(a) || j < len(b); {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			out = append(out, line{' ', a[i], i + 1, j + 1})
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			out = append(out, line{'-', a[i], i + 1, j + 1})
			i++
		default:
			out = append(out, line{'+', b[j], i + 1, j + 1})
			j++
		}
	}
	return out
}
