// Package lengthening bounds by how much a script of awk, jq or sed can lengthen its input. A script
// without such a bound could fill the memory of the machine.
package lengthening

import (
	"regexp"
	"strings"
)

// Most is the largest factor by which a program may lengthen one record of its input.
const Most = 1000

// Bracketed matches a bracket expression of a pattern. The expression must not contain a slash, because
// the slash in [/] ends the pattern in some programs but not in others. Directly after [ or [^, the sign
// ] is a plain character, so [^] alone is not a whole expression.
const Bracketed = `\[\^?(?:\[:[a-z]+:\]|[^]^[/\\;\n])(?:\[:[a-z]+:\]|[^][/\\;\n])*\]`

// needsText matches the patterns that cannot match an empty text, because they contain a plain character that
// must occur.
var needsText = regexp.MustCompile(`^\^?[^][\\^$.*+?(){}|&](?:\+|[^][\\^$.*+?(){}|]|\\[./"-]|` + Bracketed +
	`|[ ]\*|\$$)*$`)

// By returns the largest factor by which a substitution can lengthen a text. The substitution replaces a match
// of the pattern with the text `by`. If `all` is false, it replaces only the first match.
func By(pattern, by string, all bool) int {
	refs := strings.Count(by, "&") + strings.Count(by, `\`)
	switch {
	case !all:
		return max(1, refs)
	case by == "":
		return 1
	case needsText.MatchString(pattern):
		return len(by)
	}
	return len(by) + 1
}
