package rules

import (
	"regexp"
	"strings"
)

// AnswerRule describes how Coleo finds the last answer on the screen. It is for an agent CLI
// without a transcript that Coleo can read.
type AnswerRule struct {
	// Begin is the pattern of the first row of an answer: `^● (.*)$`. The last group is the text of
	// that row. If the pattern has no group, the whole match is the text.
	Begin patternText `toml:"begin"`
	// End is the pattern of the first row after an answer. That row can also begin another answer:
	// `^(❯|●)`.
	End patternText `toml:"end"`
	// Strip is the pattern of the text that Coleo removes from each row of an answer except the
	// first row, such as an indent: `^ `.
	Strip patternText `toml:"strip"`
	// Whole reports whether the answer is all of the output since the prompt. Use this key for a
	// program that prints lines and ends with its prompt, such as a shell.
	Whole bool `toml:"whole"`

	begin, end, strip *regexp.Regexp
}

// Read returns the last answer below the last echo of the prompt. The echo is the row in which the
// agent CLI shows the submitted prompt. Without an echo, Read searches all rows. If there is no answer,
// Read returns "".
func (a *AnswerRule) Read(rows []string, prompt string) string {
	if a.begin == nil {
		return ""
	}
	var out []string
	inside := false
	for _, row := range afterEcho(rows, prompt) {
		if a.end != nil && a.end.MatchString(row) {
			inside = false
		}
		m := a.begin.FindStringSubmatch(row)
		switch {
		case inside && a.strip != nil:
			out = append(out, strings.TrimRight(a.strip.ReplaceAllString(row, ""), " "))
		case inside:
			out = append(out, row)
		case m != nil:
			out, inside = []string{m[len(m)-1]}, true
		}
	}
	return strings.Trim(strings.Join(out, "\n"), "\n ")
}

// ShowsAnswer reports whether rows show the end of an answer below the echo of the prompt. The echo is
// the row in which the agent CLI shows the submitted prompt.
func ShowsAnswer(rows []string, prompt, answer string) bool {
	return showsEndOf(afterEcho(rows, prompt), answer)
}

// afterEcho returns the rows after the last row that shows the beginning of a prompt, or all rows
// if there is no such row.
func afterEcho(rows []string, prompt string) []string {
	line, _, _ := strings.Cut(prompt, "\n")
	echo := firstRunes(squeeze(line), tailRunes)
	for i := len(rows) - 1; i >= 0 && echo != ""; i-- {
		if strings.Contains(squeeze(rows[i]), echo) {
			return rows[i+1:]
		}
	}
	return rows
}

// showsEndOf reports whether rows show the end of a text.
func showsEndOf(rows []string, text string) bool {
	plain := func(s string) string {
		return strings.Map(func(r rune) rune {
			if strings.ContainsRune(boxDrawing, r) {
				return -1
			}
			return r
		}, squeeze(s))
	}
	return strings.Contains(plain(strings.Join(rows, "")), lastRunes(plain(text), tailRunes))
}

// WithoutPrompt removes the rows at the beginning that show the prompt itself. A line editor draws
// such rows when the user submits the prompt.
func WithoutPrompt(rows []string, prompt string) []string {
	for line := range strings.Lines(prompt) {
		for len(rows) > 0 && strings.TrimSpace(rows[0]) == "" {
			rows = rows[1:]
		}
		rows = rows[rowsOf(squeeze(line), rows):]
	}
	return rows
}

// rowsOf returns how many rows at the beginning of `rows` together show the text, which has no blanks.
// It returns 0 if these rows do not show the whole text.
func rowsOf(text string, rows []string) int {
	for n, row := range rows {
		rest, ok := strings.CutPrefix(text, squeeze(row))
		if text = rest; !ok || text == "" {
			if ok && row != "" {
				return n + 1
			}
			return 0
		}
	}
	return 0
}
