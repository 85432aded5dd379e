package pull

import (
	"strconv"
	"strings"

	"coleo.dev/printable"
)

const (
	// mostShown is how much of a text a message shows, in bytes.
	mostShown = 300
	// mostLine is how much of a line a prompt quotes, in bytes.
	mostLine = 1000
)

// oneLine returns a text as one line without control characters, for a message.
func oneLine(text string) string {
	text = printable.Marked(strings.Join(strings.Fields(text), " "))
	if len(text) > mostShown {
		text = strings.ToValidUTF8(text[:mostShown], "") + "…"
	}
	return text
}

// lines splits a text at every character that some program treats as the end of a line.
func lines(text string) []string {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n", "\u0085", "\n", "\u2028", "\n",
		"\u2029", "\n").Replace(strings.ToValidUTF8(text, "?"))
	return strings.Split(strings.Trim(text, "\n"), "\n")
}

// quoted puts "> " before each line of a text, so that no line can look like Coleo's own words. If the text is too
// long, quoted keeps its beginning, or its end if `fromEnd` is true. Then it adds a line with the number of omitted
// lines.
func quoted(text string, mostLines, mostBytes int, fromEnd bool) string {
	all := lines(text)
	kept, size := []string{}, 0
	for n := range all {
		line := all[n]
		if fromEnd {
			line = all[len(all)-1-n]
		}
		if len(line) > mostLine {
			line = strings.ToValidUTF8(line[:mostLine], "") + "…"
		}
		line = "> " + printable.Marked(line) + "\n"
		if size += len(line); n == mostLines || size > mostBytes {
			break
		}
		kept = append(kept, line)
	}
	cut := ""
	if left := len(all) - len(kept); left > 0 {
		cut = "(" + strconv.Itoa(left) + " more lines were left out)\n"
	}
	if fromEnd {
		for i, j := 0, len(kept)-1; i < j; i, j = i+1, j-1 {
			kept[i], kept[j] = kept[j], kept[i]
		}
		return cut + strings.Join(kept, "")
	}
	return strings.Join(kept, "") + cut
}
