package commandline

import (
	"reflect"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// This file expands the words of a command line as a shell does.

const (
	// mostMatches is the largest number of names that a file name pattern may match.
	mostMatches = 500
	// mostDocument is the largest size of a here-document, in bytes. Shells write a longer
	// here-document to a file to pass it to the command.
	mostDocument = 512
)

// ownName matches the names of variables that a line may set, because they mean nothing to shells
// and programs. Names with a meaning contain capital letters, except for those in notOwn.
var ownName = regexp.MustCompile(`^[a-z][a-z0-9]*$`)

// notOwn lists names that match ownName but have a meaning for a shell or for programs.
var notOwn = []string{"path", "cdpath", "fpath", "manpath", "mailpath", "prompt", "status", "argv", "histchars", "home"}

func isOwn(name string) bool { return ownName.MatchString(name) && !slices.Contains(notOwn, name) }

// plainLanguage matches the values that a line may assign to the variables in languageNames. A value with a
// slash would name a file, so it does not match. A value with a backslash does not match either, because some
// character sets use a backslash as a part of a character.
var plainLanguage = regexp.MustCompile(`(?i)^(C|POSIX|en_[A-Z]{2}|(C|[a-z]{2,3}_[A-Z]{2})\.UTF-?8)?$`)

// plainValue matches the values that a line may assign to NO_COLOR.
var plainValue = regexp.MustCompile(`^[A-Za-z0-9]*$`)

// languageNames lists the variables that a line may set for one command. They control the language
// and the sort order.
var languageNames = []string{"LC_ALL", "LC_COLLATE", "LC_CTYPE", "LC_MESSAGES", "LC_NUMERIC", "LANG"}

// checkEnv refuses assignments before a command, except to NO_COLOR and the variables in languageNames.
func checkEnv(assigns []*syntax.Assign) error {
	for _, a := range assigns {
		if a.Append || a.Naked || a.Array != nil || a.Index != nil || a.Name == nil {
			return unclear("a variable is set in a way that is not followed")
		}
		value := ""
		if a.Value != nil {
			value = a.Value.Lit()
			if value == "" && len(a.Value.Parts) > 0 {
				return unclear("the value of %s is not plain", a.Name.Value)
			}
		}
		isLanguage := slices.Contains(languageNames, a.Name.Value) && plainLanguage.MatchString(value)
		if !isLanguage && (a.Name.Value != "NO_COLOR" || !plainValue.MatchString(value)) {
			return unclear("the line sets %s", a.Name.Value)
		}
	}
	return nil
}

// assign records the values of assignments that stand alone, without a command.
func (w *walker) assign(assigns []*syntax.Assign) error {
	for _, a := range assigns {
		if a.Append || a.Naked || a.Array != nil || a.Index != nil || a.Name == nil || w.conditional {
			return unclear("a variable is set in a way that is not followed")
		}
		name := a.Name.Value
		if !isOwn(name) {
			return unclear("the line sets %s", name)
		}
		if a.Value == nil {
			w.set[name] = ""
			continue
		}
		words, err := w.parts(a.Value.Parts, false)
		if err != nil {
			return err
		}
		if words.unknown || words.pattern {
			return unclear("the value of %s is not known", name)
		}
		w.set[name] = words.text()
	}
	return nil
}

func (w *walker) words(ws []*syntax.Word) ([]Word, error) {
	var out []Word
	for _, word := range ws {
		got, err := w.word(word)
		if err != nil {
			return nil, err
		}
		out = append(out, got...)
	}
	return out, nil
}

// word expands one word of the line as the shell does. The result is one word, except that a file name
// pattern can give several words.
func (w *walker) word(word *syntax.Word) ([]Word, error) {
	p, err := w.parts(word.Parts, false)
	switch {
	case err != nil:
		return nil, err
	case p.unknown && p.pattern:
		return nil, unclear("a file name pattern has a part that is not known")
	case p.unknown:
		return []Word{{Unknown: true, Variable: p.variable}}, nil
	case p.pattern:
		return w.match(p)
	}
	return []Word{{Text: p.text()}}, nil
}

// pieces collects the parts of a word. `special` reports for each byte of `raw` whether the byte is a pattern
// character.
type pieces struct {
	raw     []byte
	special []bool
	unknown bool
	// variable is true if one of the parts is a variable of the environment.
	variable bool
	pattern  bool
}

func (p *pieces) text() string { return string(p.raw) }

func (p *pieces) add(s string, special bool) {
	for i := range len(s) {
		isSpecial := special && (s[i] == '*' || s[i] == '?')
		p.raw, p.special = append(p.raw, s[i]), append(p.special, isSpecial)
		p.pattern = p.pattern || isSpecial
	}
}

// parts collects the parts of a word. inQuotes is true if the parts are within double quotes.
func (w *walker) parts(parts []syntax.WordPart, inQuotes bool) (pieces, error) {
	var p pieces
	for i, part := range parts {
		var err error
		switch x := part.(type) {
		case *syntax.Lit:
			if i+1 < len(parts) && strings.HasSuffix(x.Value, "$") && opensAfterDollar(parts[i+1]) {
				return p, unclear("shells differ in what the $ after %q means", strings.TrimSuffix(x.Value, "$"))
			}
			err = p.literal(x.Value, inQuotes, len(parts) == 1)
		case *syntax.SglQuoted:
			if x.Dollar {
				return p, unclear("the line has a string of the form $'…'")
			}
			p.add(x.Value, false)
		case *syntax.DblQuoted:
			if x.Dollar {
				return p, unclear(`the line has a string of the form $"…"`)
			}
			var inner pieces
			inner, err = w.parts(x.Parts, true)
			p.raw, p.special = append(p.raw, inner.raw...), append(p.special, inner.special...)
			p.unknown, p.variable = p.unknown || inner.unknown, p.variable || inner.variable
		case *syntax.ParamExp:
			err = w.parameter(&p, x, inQuotes)
		case *syntax.CmdSubst:
			p.unknown = true
			if err = w.substitution(x); err == nil && !inQuotes {
				err = unclear("the output of a command stands without quotes: it can become any names of files")
			}
		case *syntax.ArithmExp:
			if x.Bracket || x.Unsigned || !isPlainArithmetic(x.X) {
				return p, unclear("the line has %s with more than numbers", kindOf(part))
			}
			p.unknown = true
		default:
			err = unclear("the line has %s", kindOf(part))
		}
		if err == nil {
			err = w.checkSize(len(p.raw))
		}
		if err != nil {
			return p, err
		}
	}
	*w.expanded += len(p.raw)
	return p, nil
}

// plainInteger matches a number that every shell reads in the same way.
var plainInteger = regexp.MustCompile(`^[0-9]{1,9}$`)

// plainOperators lists the operators of a calculation without side effects.
var plainOperators = []syntax.BinAritOperator{syntax.Add, syntax.Sub, syntax.Mul, syntax.Quo, syntax.Rem}

// isPlainArithmetic reports whether a calculation contains only numbers. Variables are refused, because
// a variable's value can itself be a calculation that starts a program.
func isPlainArithmetic(x syntax.ArithmExpr) bool {
	switch x := x.(type) {
	case *syntax.Word:
		return plainInteger.MatchString(x.Lit())
	case *syntax.ParenArithm:
		return isPlainArithmetic(x.X)
	case *syntax.BinaryArithm:
		return slices.Contains(plainOperators, x.Op) && isPlainArithmetic(x.X) && isPlainArithmetic(x.Y)
	}
	return false
}

// checkSize refuses a line if its expanded words would exceed mostExpanded. `more` is the number of bytes
// that the caller is about to add to them.
func (w *walker) checkSize(more int) error {
	if *w.expanded+more > mostExpanded {
		return unclear("the words of the line have more than %d bytes", mostExpanded)
	}
	return nil
}

// opensAfterDollar reports whether a $ directly before the part has a meaning in some shell, as in $"TEXT".
func opensAfterDollar(part syntax.WordPart) bool {
	switch x := part.(type) {
	case *syntax.Lit:
		return strings.IndexAny(x.Value, "[({") == 0
	case *syntax.SglQuoted, *syntax.DblQuoted:
		return true
	}
	return false
}

// literal adds literal text of the line. It removes the backslashes that quote characters. isWhole is true if
// the text is a whole word. Only then is a bracket not a part of a pattern, such as ["i"]d.
func (p *pieces) literal(s string, quoted, isWhole bool) error {
	if isWhole && (s == "!" || s == "!=" || s == "[" || s == "]") { // a command or an operator, not a pattern
		p.add(s, false)
		return nil
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '$' && i+1 < len(s) && strings.IndexByte("[({", s[i+1]) >= 0:
			return unclear("shells differ in what %q means", s[i:i+2])
		case c == '\\' && i+1 < len(s) && s[i+1] == '\n':
			i++
		case c == '\\' && quoted && (i+1 == len(s) || !strings.ContainsRune("$`\"\\", rune(s[i+1]))):
			p.add(`\`, false)
		case c == '\\' && i+1 == len(s):
			return unclear("the line ends with a backslash")
		case c == '\\':
			i++
			p.add(s[i:i+1], false)
		case quoted:
			p.add(s[i:i+1], false)
		case (c == '~' || c == '^') && i > 0 && afterName.MatchString(s[i-1:i]):
			p.add(s[i:i+1], false) // the ~ and ^ of HEAD~1 and HEAD^^ are plain characters
		case strings.IndexByte("~{}[]!^", c) >= 0:
			return unclear("the shell can replace the word with %q", string(c))
		default:
			p.add(s[i:i+1], true)
		}
	}
	return nil
}

// tellable lists the variables of the environment whose values are not secret.
var tellable = []string{"HOME", "PWD", "OLDPWD", "USER", "LOGNAME", "SHELL", "PATH", "LANG", "TERM", "HOSTNAME"}

// isSecret reports whether the variable with the given name can hold a secret.
func isSecret(name string) bool {
	return isName.MatchString(name) && !slices.Contains(tellable, name)
}

var isName = regexp.MustCompile(`^[A-Za-z_]`)

// afterName matches a character after which ~ and ^ are plain characters.
var afterName = regexp.MustCompile(`[A-Za-z0-9~^]`)

// plainParameter matches parameters whose expansion has no side effect.
var plainParameter = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]*|[0-9?#$!@*-])$`)

// parameter expands $NAME and ${NAME}.
func (w *walker) parameter(p *pieces, x *syntax.ParamExp, quoted bool) error {
	bare := syntax.ParamExp{Dollar: x.Dollar, Rbrace: x.Rbrace, Short: x.Short, Param: x.Param}
	if x.Param == nil || !reflect.DeepEqual(*x, bare) || !plainParameter.MatchString(x.Param.Value) {
		return unclear("a variable is changed or chosen while it is read")
	}
	value, ok := w.set[x.Param.Value]
	switch {
	case !ok && x.Param.Value == "@":
		return unclear("$@ can be any number of words")
	case !ok && !quoted && strings.Trim(x.Param.Value, "?#$") != "":
		return unclear("$%s stands without quotes", x.Param.Value)
	case !ok:
		p.unknown = true
		p.variable = p.variable || isSecret(x.Param.Value)
	case quoted:
		p.add(value, false)
	case value == "" || strings.ContainsAny(value, " \t\n*?[(\\"):
		return unclear("$%s stands without quotes", x.Param.Value)
	default:
		p.add(value, false)
	}
	return nil
}

// substitution follows the commands of a substitution such as $(COMMAND).
func (w *walker) substitution(x *syntax.CmdSubst) error {
	if x.TempFile || x.ReplyVar || x.Backquotes {
		return unclear("the line has a substitution that is not followed: write $(…)")
	}
	w.substituted++
	defer func() { w.substituted-- }()
	return w.followPart(func(w *walker) error { return w.list(x.Stmts) })
}
