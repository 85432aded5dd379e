package awk

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"coleo.dev/policy/reading/lengthening"
	"coleo.dev/printable"
)

// wordKind is the kind of a word in an awk script.
type wordKind int

const (
	kindNumber wordKind = iota + 1
	kindText
	kindPattern // a regular expression between slashes
	kindName
	kindSign
	kindLine // the end of a line
)

// scriptWord is a word of an awk script.
type scriptWord struct {
	kind wordKind
	text string
}

var (
	// plainScript matches a script in which a byte has the same meaning in every character set.
	plainScript = regexp.MustCompile(`^[\t\n -~]*$`)
	// forbidden matches names that read other files, start programs, show the environment or change
	// how numbers are printed. A script is refused even if such a name is part of a text.
	forbidden = regexp.MustCompile(`\b(system|getline|close|fflush|ENVIRON|PROCINFO|ARGV|ARGC|SYMTAB|FUNCTAB|OFMT|` +
		`CONVFMT)\b`)
	numbers = regexp.MustCompile(`^[0-9]{1,6}(\.[0-9]{1,6})?`)
	// afterNumber matches a character that may not follow a number directly, as in 2e or 2_. awk programs differ
	// in where such a number ends.
	afterNumber = regexp.MustCompile(`^[A-Za-z0-9_.]`)
	texts       = regexp.MustCompile(`^"([^"\\\n]|\\[\\"nrt])*"`)
	patterns    = regexp.MustCompile(`^/([^][/\\\n]|\\[.*+?^$(){}|tswSWdb/"[\]-]|` + lengthening.Bracketed + `)+/`)
	names       = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*`)
	signs       = regexp.MustCompile(`^(\+\+|--|\+=|-=|\*=|%=|==|!=|<=|>=|&&|\|\||!~|[-~!<>=+*%()\[\]{};,?:$])`)
)

// splitter divides an awk script into words.
type splitter struct {
	words []scriptWord
	// parens contains one entry for each open parenthesis and bracket. An entry is true for the
	// parenthesis of `if` or `for`.
	parens []bool
	// closed is true if the last word is the closing parenthesis of `if` or `for`.
	closed bool
	// divides is true if the script contains the division operator.
	divides bool
}

// splitScript returns the words of an awk script. It refuses a script that different awk programs
// could split into different words.
func splitScript(script string) ([]scriptWord, error) {
	if !plainScript.MatchString(script) {
		return nil, fmt.Errorf("its script has unusual characters")
	}
	if name := forbidden.FindString(script); name != "" {
		return nil, fmt.Errorf("its script contains %s, which can do more than print", name)
	}
	s := splitter{}
	for rest := script; rest != ""; {
		if rest[0] == ' ' || rest[0] == '\t' {
			rest = rest[1:]
			continue
		}
		word, err := s.next(rest)
		if err != nil {
			return nil, err
		}
		s.nest(word)
		s.words = append(s.words, word)
		rest = rest[len(word.text):]
	}
	hides := func(word scriptWord) bool {
		return (word.kind == kindText || word.kind == kindPattern) && strings.ContainsAny(word.text, ">|")
	}
	if s.divides && slices.ContainsFunc(s.words, hides) {
		return nil, fmt.Errorf("its script divides, and has a string with > or |")
	}
	return s.words, nil
}

// next returns the first word of `rest`.
func (s *splitter) next(rest string) (scriptWord, error) {
	if rest[0] == '\n' {
		return scriptWord{kindLine, "\n"}, nil
	}
	if rest[0] == '/' {
		return s.slash(rest)
	}
	if strings.HasPrefix(rest, "::") || strings.HasPrefix(rest, "**") {
		return scriptWord{}, fmt.Errorf("its script contains %q, which not every awk knows", rest[:2])
	}
	for _, try := range []struct {
		kind  wordKind
		match *regexp.Regexp
	}{{kindNumber, numbers}, {kindText, texts}, {kindName, names}, {kindSign, signs}} {
		text := try.match.FindString(rest)
		if text == "" {
			continue
		}
		if after := rest[len(text):]; try.kind == kindNumber && afterNumber.MatchString(after) {
			break
		}
		return scriptWord{try.kind, text}, nil
	}
	return scriptWord{}, fmt.Errorf("its script contains %q, which Coleo does not understand", printable.Shortened(rest))
}

// beforePattern lists the signs after which a slash begins a regular expression in every awk.
var beforePattern = []string{"{", "}", ";", "(", ",", "!", "~", "!~", "&&", "||"}

// slash returns the word that begins with a slash: a regular expression, or the sign of a division.
func (s *splitter) slash(rest string) (scriptWord, error) {
	last, line := s.last(), false
	if last.kind == kindLine {
		if len(s.parens) > 0 {
			return scriptWord{}, fmt.Errorf("its script has a slash at the beginning of a line")
		}
		for i := len(s.words) - 1; i >= 0 && s.words[i].kind == kindLine; i-- {
			last, line = scriptWord{}, true
			if i > 0 {
				last = s.words[i-1]
			}
		}
	}
	pattern := patterns.FindString(rest)
	switch {
	case pattern != "" && (last.kind == 0 || last.kind == kindSign && slices.Contains(beforePattern, last.text)):
		return scriptWord{kindPattern, pattern}, nil
	case line || s.closed || strings.HasPrefix(rest, "/="):
	case last.kind == kindNumber, last.kind == kindSign && (last.text == ")" || last.text == "]"),
		last.kind == kindName && isVariable(last.text):
		s.divides = true
		return scriptWord{kindSign, "/"}, nil
	}
	return scriptWord{}, fmt.Errorf("programs can differ in what %q in its script means", printable.Shortened(rest))
}

func (s *splitter) last() scriptWord {
	if len(s.words) == 0 {
		return scriptWord{}
	}
	return s.words[len(s.words)-1]
}

// nest updates parens and closed for a word that opens or closes a parenthesis.
func (s *splitter) nest(word scriptWord) {
	last := s.last()
	s.closed = false
	if word.kind != kindSign {
		return
	}
	switch word.text {
	case "(", "[":
		s.parens = append(s.parens, last.kind == kindName && (last.text == "if" || last.text == "for"))
	case ")", "]":
		if n := len(s.parens); n > 0 {
			s.closed = s.parens[n-1]
			s.parens = s.parens[:n-1]
		}
	}
}

var (
	functions = strings.Fields(`length substr index split toupper tolower int sprintf match gsub sub sqrt exp log sin
		cos atan2`)
	keywords = strings.Fields(`BEGIN END if else for in print printf next exit break continue delete while do function func
		return switch case default nextfile BEGINFILE ENDFILE`)
	settable = strings.Fields(`FS OFS RS ORS SUBSEP`)
	readable = strings.Fields(`FS OFS RS ORS SUBSEP NF NR FNR FILENAME RSTART RLENGTH`)
	// ownVariable matches a name that has no special meaning in any awk program.
	ownVariable = regexp.MustCompile(`^([a-z_][A-Za-z0-9_]*|[A-Z])$`)
)

// isVariable reports whether a name is a variable that a script may read.
func isVariable(name string) bool {
	return slices.Contains(readable, name) ||
		ownVariable.MatchString(name) && !slices.Contains(keywords, name) && !slices.Contains(functions, name)
}

// IsSettable reports whether a name is a variable that a script may change.
func IsSettable(name string) bool {
	return isVariable(name) && (!slices.Contains(readable, name) || slices.Contains(settable, name))
}
