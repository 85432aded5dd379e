package commandline

import (
	"regexp"

	"mvdan.cc/sh/v3/syntax"
)

// nowhere is the device that discards everything that is written to it.
const nowhere = "/dev/null"

// redirections returns the files that the shell opens for reading. It refuses redirections
// that write to a file.
func (w *walker) redirections(rs []*syntax.Redirect) ([]Word, error) {
	var inputs []Word
	for _, r := range rs {
		if r.N != nil && r.N.Value != "0" && r.N.Value != "1" && r.N.Value != "2" {
			return nil, unclear("the line redirects %s", r.N.Value)
		}
		words, err := w.target(r)
		if err != nil {
			return nil, err
		}
		switch r.Op {
		case syntax.RdrIn:
			inputs = append(inputs, words)
		case syntax.RdrOut, syntax.AppOut, syntax.RdrAll, syntax.AppAll, syntax.RdrClob:
			if words.Text != nowhere {
				return nil, unclear("the line writes to a file")
			}
		case syntax.DplOut, syntax.DplIn:
			if words.Text != "0" && words.Text != "1" && words.Text != "2" {
				return nil, unclear("the line redirects to %q", words.Text)
			}
		case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		default:
			return nil, unclear("the line has the redirection %s", r.Op)
		}
	}
	return inputs, nil
}

// target returns the word after the operator of a redirection. For a here-document, it returns no
// word, but collects the commands in the text of the here-document.
func (w *walker) target(r *syntax.Redirect) (Word, error) {
	if r.Op == syntax.Hdoc || r.Op == syntax.DashHdoc {
		if w.substituted > 0 {
			return Word{}, unclear("a here-document is within $(…): shells differ in where it ends")
		}
		if !plainEnd(r.Word) {
			return Word{}, unclear("the end of the here-document is not a plain word")
		}
		if r.Hdoc == nil {
			return Word{}, nil
		}
		return Word{}, w.document(r)
	}
	words, err := w.word(r.Word)
	switch {
	case err != nil:
		return Word{}, err
	case len(words) != 1 || words[0].Unknown || words[0].Matched:
		return Word{}, unclear("the file of a redirection is not known")
	case r.Op == syntax.WordHdoc && len(words[0].Text) > mostDocument:
		return Word{}, unclear("the string has more than %d bytes", mostDocument)
	}
	return words[0], nil
}

// document collects the commands in the text of a here-document. There are none if the end word is
// quoted, because the shell then expands nothing in the text.
func (w *walker) document(r *syntax.Redirect) error {
	var p pieces
	if text := r.Hdoc.Lit(); text != "" && r.Word.Lit() == "" {
		p.add(text, false)
	} else {
		var err error
		if p, err = w.parts(r.Hdoc.Parts, true); err != nil {
			return err
		}
	}
	if len(p.raw) > mostDocument || p.unknown {
		return unclear("the here-document has more than %d bytes, or it is not known", mostDocument)
	}
	return nil
}

// plainEnd reports whether the end word of a here-document is a name, with or without quotes.
func plainEnd(word *syntax.Word) bool {
	if len(word.Parts) != 1 {
		return false
	}
	switch x := word.Parts[0].(type) {
	case *syntax.Lit:
		return endName.MatchString(x.Value)
	case *syntax.SglQuoted:
		return !x.Dollar && endName.MatchString(x.Value)
	case *syntax.DblQuoted:
		return !x.Dollar && len(x.Parts) == 1 && plainEnd(&syntax.Word{Parts: x.Parts})
	}
	return false
}

var endName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
