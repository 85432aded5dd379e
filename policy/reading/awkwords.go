package reading

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// awkKind is the kind of a word in an awk script.
type awkKind int

const (
	awkNumber awkKind = iota + 1
	awkText
	awkPattern // a regular expression between slashes
	awkName
	awkSign
	awkLine // the end of a line
)

// awkWord is a word of an awk script.
type awkWord struct {
	kind awkKind
	text string
}

var (
	// plainScript matches a script in which a byte has the same meaning in every character set.
	plainScript = regexp.MustCompile(`^[\t\n -~]*$`)
	// awkForbidden matches names that read other files, start programs, show the environment or change
	// how numbers are printed. A script is refused even if such a name is part of a text.
	awkForbidden = regexp.MustCompile(`\b(system|getline|close|fflush|ENVIRON|PROCINFO|ARGV|ARGC|SYMTAB|FUNCTAB|OFMT|` +
		`CONVFMT)\b`)
	awkNumbers = regexp.MustCompile(`^[0-9]{1,6}(\.[0-9]{1,6})?`)
	// afterNumber matches a character that would make the number before it another number or a name.
	afterNumber = regexp.MustCompile(`^[A-Za-z0-9_.]`)
	awkTexts    = regexp.MustCompile(`^"([^"\\\n]|\\[\\"nrt])*"`)
	awkPatterns = regexp.MustCompile(`^/([^][/\\\n]|\\[.*+?^$(){}|tswSWdb/"[\]-]|` + bracketed + `)+/`)
	awkNames    = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*`)
	awkSigns    = regexp.MustCompile(`^(\+\+|--|\+=|-=|\*=|%=|==|!=|<=|>=|&&|\|\||!~|[-~!<>=+*%()\[\]{};,?:$])`)
)

// awkSplitter divides an awk script into words.
type awkSplitter struct {
	words []awkWord
	// parens contains one entry for each open parenthesis and bracket. An entry is true for the
	// parenthesis of `if` or `for`.
	parens []bool
	// closed is true if the last word is the closing parenthesis of `if` or `for`.
	closed bool
	// divides is true if the script contains the division operator.
	divides bool
}

// awkSplit returns the words of an awk script. It refuses a script that different awk programs could
// split into different words.
func awkSplit(script string) ([]awkWord, error) {
	if !plainScript.MatchString(script) {
		return nil, fmt.Errorf("its script has unusual characters")
	}
	if name := awkForbidden.FindString(script); name != "" {
		return nil, fmt.Errorf("its script contains %s, which can do more than print", name)
	}
	s := awkSplitter{}
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
	hides := func(word awkWord) bool {
		return (word.kind == awkText || word.kind == awkPattern) && strings.ContainsAny(word.text, ">|")
	}
	if s.divides && slices.ContainsFunc(s.words, hides) {
		return nil, fmt.Errorf("its script divides, and has a string with > or |")
	}
	return s.words, nil
}

// next returns the first word of `rest`.
func (s *awkSplitter) next(rest string) (awkWord, error) {
	if rest[0] == '\n' {
		return awkWord{awkLine, "\n"}, nil
	}
	if rest[0] == '/' {
		return s.slash(rest)
	}
	if strings.HasPrefix(rest, "::") || strings.HasPrefix(rest, "**") {
		return awkWord{}, fmt.Errorf("its script contains %q, which not every awk knows", rest[:2])
	}
	for _, try := range []struct {
		kind  awkKind
		match *regexp.Regexp
	}{{awkNumber, awkNumbers}, {awkText, awkTexts}, {awkName, awkNames}, {awkSign, awkSigns}} {
		text := try.match.FindString(rest)
		if text == "" {
			continue
		}
		if after := rest[len(text):]; try.kind == awkNumber && afterNumber.MatchString(after) {
			break
		}
		return awkWord{try.kind, text}, nil
	}
	return awkWord{}, fmt.Errorf("its script contains %q, which Coleo does not understand", shortened(rest))
}

// beforePattern lists the signs after which a slash begins a regular expression in every awk.
var beforePattern = []string{"{", "}", ";", "(", ",", "!", "~", "!~", "&&", "||"}

// slash returns the word that begins with a slash: a regular expression, or the sign of a division.
func (s *awkSplitter) slash(rest string) (awkWord, error) {
	last, line := s.last(), false
	if last.kind == awkLine {
		if len(s.parens) > 0 {
			return awkWord{}, fmt.Errorf("its script has a slash at the beginning of a line")
		}
		for i := len(s.words) - 1; i >= 0 && s.words[i].kind == awkLine; i-- {
			last, line = awkWord{}, true
			if i > 0 {
				last = s.words[i-1]
			}
		}
	}
	pattern := awkPatterns.FindString(rest)
	switch {
	case pattern != "" && (last.kind == 0 || last.kind == awkSign && slices.Contains(beforePattern, last.text)):
		return awkWord{awkPattern, pattern}, nil
	case line || s.closed || strings.HasPrefix(rest, "/="):
	case last.kind == awkNumber, last.kind == awkSign && (last.text == ")" || last.text == "]"),
		last.kind == awkName && isVariable(last.text):
		s.divides = true
		return awkWord{awkSign, "/"}, nil
	}
	return awkWord{}, fmt.Errorf("programs can differ in what %q in its script means", shortened(rest))
}

func (s *awkSplitter) last() awkWord {
	if len(s.words) == 0 {
		return awkWord{}
	}
	return s.words[len(s.words)-1]
}

// nest updates parens and closed for a word that opens or closes a parenthesis.
func (s *awkSplitter) nest(word awkWord) {
	last := s.last()
	s.closed = false
	if word.kind != awkSign {
		return
	}
	switch word.text {
	case "(", "[":
		s.parens = append(s.parens, last.kind == awkName && (last.text == "if" || last.text == "for"))
	case ")", "]":
		if n := len(s.parens); n > 0 {
			s.closed = s.parens[n-1]
			s.parens = s.parens[:n-1]
		}
	}
}

var (
	awkFunctions = strings.Fields(`length substr index split toupper tolower int sprintf match gsub sub sqrt exp log sin
		cos atan2`)
	awkWords = strings.Fields(`BEGIN END if else for in print printf next exit break continue delete while do function func
		return switch case default nextfile BEGINFILE ENDFILE`)
	awkSettable = strings.Fields(`FS OFS RS ORS SUBSEP`)
	awkReadable = strings.Fields(`FS OFS RS ORS SUBSEP NF NR FNR FILENAME RSTART RLENGTH`)
	// ownVariable matches a name that has no special meaning in any awk program.
	ownVariable = regexp.MustCompile(`^([a-z_][A-Za-z0-9_]*|[A-Z])$`)
)

// isVariable reports whether a name is a variable that a script may read.
func isVariable(name string) bool {
	return slices.Contains(awkReadable, name) ||
		ownVariable.MatchString(name) && !slices.Contains(awkWords, name) && !slices.Contains(awkFunctions, name)
}

// isSettable reports whether a name is a variable that a script may change.
func isSettable(name string) bool {
	return isVariable(name) && (!slices.Contains(awkReadable, name) || slices.Contains(awkSettable, name))
}
