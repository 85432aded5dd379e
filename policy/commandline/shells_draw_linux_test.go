package commandline

import (
	"math/rand/v2"
	"regexp"
	"slices"
)

// This file draws the lines of TestShellsRunWhatParseLists.

// drawer draws lines.
type drawer struct{ *rand.Rand }

// dangerous lists parts of lines that parsers and shells can understand in different ways. No part lets a line
// write outside of its folder: a / stands only after a name or a dot, or in /dev/null as a whole.
var dangerous = []string{"'", `"`, `\`, "\n", "\\\n", "#", " #", ";", ";;", "|", "||", "&", "&&", "<", ">", ">&",
	"<&", "<>", ">|", "&>", "|&", "<<E", "<<-E", "<<'E'", "<<\"E\"", "<<\\E", "\nE\n", "\nE", "\n\tE\n", "<<<", "$",
	"${", "}", "$(", ")", "`", "(", "((", "))", "$((", "[[", "]]", "!", "{", "{ ", "; }", "=", "*", "?", "[", "]",
	"~", "^", ",", "..", "-", "+", ":", "%", "@", "\t", " ", "  ", "\r", "\v", "\u00a0", "\u2003", "é", "0", "1",
	"2", "3", "2>&1", ">/dev/null ", "2>/dev/null ", "a", "b", "E", "x", "a.go", "b.go", "*.go", "./a", "sub/",
	".e", "-x", "if ", "; then ", "; else ", "; fi", "for x in ", "; do ", "; done", "while ", "case a in ", "a) ",
	"esac", "in", "do", "done", "x=", "x=a", "x=a; ", "y=; ", "LC_ALL=C ", "$x", `"$x"`, "${x}", "$y", `"$y"`, "$v",
	`"$v"`, "$@", `"$@"`, "$*", "$1", "$?", "$#", "$$", "$!", "$-", "$'", `$"`, "$[", "$((1+1))", `"$(a)"`, "$(a)",
	"cd sub && ", "echo ", "test ", "true", "false", "a b", " a", " b", "; a", "; b x", "| b", "&& a", "|| b",
	"time ", "function ", "select ", "let ", "coproc ", "a() ", "[a-b]", "{a,b}", "{1..2}", "@(", "!(", "?(", "+(",
	"\\*", "\\$", `\"`, "\\'", "\\#", `'#'`, `"#"`, "'*'", `"*"`, `"["`, `"]"`, "''", `""`, "'\n'", "\"\n\""}

// sharp lists the parts that most often change what stands beside them. The test inserts several at one place.
var sharp = []string{"'", `"`, `\`, "\n", "\\\n", "#", "$", "*", "?", "[", "]", "<", ">", "<<", " <a.go", "E", "~",
	"!", "{", "}", "(", ")", "`", ";", "&", "|", "=", ".", ".*", "..*", "sub/", "a", "x", "x=", "1", " ", "\t", "^",
	"-"}

// quoted lists ways to quote a part of a line.
var quoted = [][2]string{{"'", "'"}, {`"`, `"`}, {`\`, ""}, {"[", "]"}, {`["`, `"]`}, {"['", "']"}, {"{", "}"},
	{"(", ")"}, {`"$(`, `)"`}, {"$", ""}, {"", "\\\n"}, {"", "#"}, {"", "*"}, {"", `""`}}

// good lists lines that Parse accepts. The test changes them.
var good = []string{"a", "a b", "a x; b", "a\nb x", "a | b", "a && b", "a || b", "! a", "a 'b c' \"x\" E\\ a",
	"a *.go", "a ?.go", "a \"*\"", "a '?'*", "a b # x", "a # x\nb", "a <a.go", "a < a.go | b", "a 2>&1",
	"a >/dev/null ", "a 2>/dev/null ; b", "x=a; a $x", "x='a b'; a \"$x\"", "y=; a \"$y\"",
	"x=a; y=b; a $x$y \"$y\"", "if a; then b; else x; fi", "if a\nthen b\nfi", "for x in a b; do a $x; done",
	"for x in *.go; do a \"$x\"; done", "for x in a; do b; a; done; b", "{ a; b; }", "(a; b)", "(a | b) && a",
	"{ a; } | b", "a \"$(b)\"", "a \"$(a | b; a)\" x", "a \"x$(b \"$(a)\")\"", "a \"$v\"", "a $?", "a \"$v$x\"",
	"a $((1+1))", "a \"$((2*3))\"", "cd sub && a", "cd sub && a *.go | b", "LC_ALL=C a", "LC_ALL=C a b | b",
	"a <<E\nx\nE", "a <<E\nx\nE\nb", "a <<'E'\n$(b)\nE\nb", "a <<\"E\" b\n`a`\n$x\nE", "a <<-E\n\tx\n\tE\nb",
	"a <<E | b\nx $v\nE\na", "a <<<x", "a <<'E'\nx\nE\nb\nE", "a <<E\nx\nE\nb\nE", "a <<<\"$v\"; b",
	"a <<E; a <<E\nb\nE\na\nE\nb", "a 'x\ny'; b", "a \"x\ny\"; b", "a \\\nb", "a; \\\nb", "a x\\y \"x\\y\" 'x\\y'",
	"a \"\\$x\" '$x' \\$x", "a a=b -x=a", "a ! = ]", "a {} {", "a HEAD~1 HEAD^^", "a a,b a:b +a %a @ a@b",
	"[ -f a ] && b", "test ! -f a.go || b", "echo a | b | a", "a | b\na && b", "a &&\nb", "a |\nb", "a |\n\nb",
	"if a; then (b); fi; b", "! a | b; x", "{ a\nb\n}", "(a\nb\n)", "a;", "a #", "a x#y", "a ''", "a \"\" x",
	"''a b", "a 1>/dev/null 2>&1", "a 2 >/dev/null b", "a a\tb", "for x in a b\ndo\nif a $x\nthen b; fi\ndone",
	"(a '$(b)')", "a \"$(a '$(b)')\"", "a \"$( (a '$(b)') )\"", "( (a '`b`'); a )", "a '\"$(b)'",
	"a \"$(for x in a; do b; done)\"", "a \"$(if a; then b; fi)\"", "a .e* -x", "a ??"}

// known lists lines that Parse once understood wrongly. The test runs them first, and also changes them.
var known = []string{"a # \\\nb", "a $\\\n*", "a <<'E'#x\nx\nE#x\nb\nE", "x=1 <a.go", "a [\"a\"]", "a $!",
	"a \"$@\"", "a .*", "a ??", "coproc a", "time b", "LC_ALL+= a",
	"(\\\n(a '$(b)'))", "a \"$(\\\n(a '$(b)'))\""}

// partOf matches the parts of a good line. A redirection to /dev/null stays whole.
var partOf = regexp.MustCompile(`(?s)>/dev/null |<<-?|&&|\|\||\$[({]|\.?\w+|.`)

// line returns a random line, or a good line with changes.
func (d drawer) line() []string {
	var parts []string
	if d.IntN(8) == 0 {
		parts = []string{d.of([]string{"a ", "b ", "", "a", "x=", "a b"})}
		for range 1 + d.IntN(6) {
			parts = append(parts, d.of(dangerous))
		}
		return parts
	}
	if parts = partOf.FindAllString(d.of(good), -1); d.IntN(10) == 0 {
		parts = partOf.FindAllString(d.of(known), -1)
	}
	if d.IntN(4) == 0 {
		parts = append(parts, d.of([]string{"; ", "\n", " && ", " | ", " || "}))
		parts = append(parts, partOf.FindAllString(d.of(good), -1)...)
	}
	for range 1 + d.IntN(4) {
		parts = d.changed(parts)
	}
	return parts
}

// changed inserts, removes, replaces, repeats or exchanges parts of a line.
func (d drawer) changed(parts []string) []string {
	i := d.IntN(len(parts) + 1)
	if i == len(parts) {
		return append(parts, d.of(dangerous))
	}
	k := d.IntN(len(parts))
	switch d.IntN(12) {
	case 4, 5, 6:
		for range 2 + d.IntN(2) {
			parts = slices.Insert(parts, i, d.of(sharp))
		}
		return parts
	case 7, 8:
		quotes := quoted[d.IntN(len(quoted))]
		return slices.Insert(slices.Insert(parts, i+1, quotes[1]), i, quotes[0])
	case 9:
		return d.otherEnds(parts)
	case 0:
		return slices.Delete(parts, i, i+1)
	case 1:
		parts[i] = d.of(dangerous)
		return parts
	case 2:
		parts[i], parts[k] = parts[k], parts[i]
		return parts
	case 3:
		return slices.Insert(parts, i, parts[k])
	}
	return slices.Insert(parts, i, d.of(dangerous))
}

// otherEnds puts a part behind some of the end words of here-documents, and behind the quotes of these words.
func (d drawer) otherEnds(parts []string) []string {
	added := d.of(sharp)
	out := []string{}
	for i, p := range parts {
		isEnd := p == "E" && (i+1 == len(parts) || !slices.Contains([]string{"'", `"`}, parts[i+1]))
		isQuote := slices.Contains([]string{"'", `"`}, p) && i > 0 && parts[i-1] == "E"
		if out = append(out, p); (isEnd || isQuote) && d.IntN(4) > 0 {
			out = append(out, added)
		}
	}
	return out
}

func (d drawer) of(list []string) string { return list[d.IntN(len(list))] }
