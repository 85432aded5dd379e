package commandline

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// checkText refuses invisible characters, and lines that are too long.
func checkText(line string) error {
	switch {
	case len(line) > MaxLine:
		return unclear("the line has %d bytes, more than %d", len(line), MaxLine)
	case !utf8.ValidString(line):
		return unclear("the line is not valid UTF-8")
	}
	for _, r := range line {
		if r != '\n' && r != '\t' && !unicode.IsPrint(r) {
			return unclear("the line has the character %U, which is not shown", r)
		}
	}
	return nil
}

// checkDialect refuses syntax that different implementations of the same shell interpret
// differently.
func checkDialect(line string, shell Shell) error {
	switch {
	case shell == Zsh:
		return checkZsh(line)
	case shell == POSIX && strings.Contains(line, "(("):
		return unclear("bash as sh calculates what is within ((")
	case strings.Contains(line, "<<") && strings.Contains(line, "\\\n"):
		return unclear("the line has a here-document and continues after a backslash")
	case strings.Contains(line, "#") && strings.Contains(line, "\\\n"):
		// A comment ends with its row, even after a backslash. The parser would continue with the next row.
		return unclear("the line has the character # and continues after a backslash")
	case strings.Contains(line, "$\\\n"):
		return unclear("the line continues between a $ and what follows it") // for a shell, the two belong together
	case joined.MatchString(line):
		return unclear("the line continues after a backslash between two signs") // a shell reads ( and ( as ((
	}
	return nil
}

// joined matches a backslash at the end of a row if a shell could read what is before and behind it as one sign.
// Two letters, or a blank on one side, cannot become a sign.
var joined = func() *regexp.Regexp {
	const word, blank = `A-Za-z0-9_./,:@%+\-`, ` \t\n`
	return regexp.MustCompile(`[^` + word + blank + `]\\\n[^` + blank + `]|[^` + blank + `]\\\n[^` + word + blank + `]`)
}()

// checkZsh refuses every character whose meaning differs between zsh and bash, even within
// quotes.
func checkZsh(line string) error {
	if i := strings.IndexAny(line, "*?[](){}~^#=<>!$`\\\n"); i >= 0 {
		return unclear("%q can mean something else in zsh", line[i])
	}
	return nil
}
