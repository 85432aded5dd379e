package show

import (
	"strings"

	"coleo.dev/pty"
)

// Cut shortens a line to at most cols cells. Colour sequences do not count as cells.
func Cut(line string, cols int) string {
	var out strings.Builder
	shown, sequence := 0, false
	for _, r := range line {
		switch {
		case r == '\x1b':
			sequence = true
		case sequence:
			sequence = r != 'm'
		case shown >= cols:
			continue
		default:
			width := 1
			if r > '~' {
				width = pty.Cells(string(r))
			}
			if shown += width; shown > cols {
				continue
			}
		}
		out.WriteRune(r)
	}
	return out.String()
}

// CutLines cuts each line of a text to the given number of columns. A line that was cut ends with "…". The
// number 0 means that there is no terminal, and CutLines cuts nothing.
func CutLines(text string, cols int) string {
	if cols == 0 {
		return text
	}
	var out strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if shown := Cut(line, cols); shown == line {
			out.WriteString(line + "\n")
		} else {
			out.WriteString(Cut(line, cols-1) + "…\n")
		}
	}
	return out.String()
}
