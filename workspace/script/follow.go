package script

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"coleo.dev/workspace/git"
)

// mostNamed is the largest number of files that a script may name. If the script names a folder,
// each file in the folder counts.
const mostNamed = 1000

// follow adds the files that the script names to s.Files. It understands only scripts for sh and bash. If the script
// may start other files, follow sets s.Why to the reason.
func (s *Script) follow(ctx context.Context, r *git.Repo) error {
	f := follower{read: map[string]bool{s.Path: true}}
	out, err := r.Output(ctx, "ls-tree", "-r", "-z", "--full-tree", s.Commit)
	if errors.Is(err, git.ErrTooLarge) {
		s.Why = "the repository has too many files"
		return nil
	}
	if err != nil {
		return err
	}
	f.tree = parseTree(out)
	f.script(s.Path, s.Content)
	for len(f.next) > 0 && f.why == "" {
		file := f.next[0]
		f.next = f.next[1:]
		if file.Mode == modeLink || file.Mode != modeFile && file.Mode != modeProgram {
			f.unclear("%s is not a regular file", file.Path)
			break
		}
		if len(s.Files) > mostNamed {
			f.unclear("it names more than %d files", mostNamed)
			break
		}
		if !f.runs[file.Path] {
			if err := hashBlob(ctx, r, &file); err != nil {
				return err
			}
			s.Files = append(s.Files, file)
			continue
		}
		data, err := readBlob(ctx, r, &file, maxScript)
		if err != nil {
			f.unclear("%v", err)
			break
		}
		s.Files = append(s.Files, file)
		f.script(file.Path, data)
	}
	s.Why = f.why
	return nil
}

// follower finds the files that a script names.
type follower struct {
	tree map[string]File
	read map[string]bool // files that are already in the result or in the list `next`
	runs map[string]bool // files that the script runs as scripts
	next []File
	own  map[string]bool // the names of the functions that the script declares
	why  string          // why the script cannot be followed; empty if it can
}

func (f *follower) unclear(format string, a ...any) {
	if f.why == "" {
		f.why = fmt.Sprintf(format, a...)
	}
}

// shells lists the interpreters whose scripts the package can follow.
var shells = []string{"sh", "bash", "dash"}

// script follows the text of one script.
func (f *follower) script(name, text string) {
	first, _, _ := strings.Cut(text, "\n")
	line := strings.Fields(strings.TrimPrefix(first, "#!"))
	if len(line) == 2 && line[0] == "/usr/bin/env" {
		line = line[1:]
	} else if len(line) > 0 && path.Dir(line[0]) != "/bin" && path.Dir(line[0]) != "/usr/bin" {
		line = nil
	}
	if !strings.HasPrefix(first, "#!") || len(line) == 0 || len(line) > 2 ||
		!slices.Contains(shells, path.Base(line[0])) ||
		len(line) == 2 && !plainFlags(line[1]) {
		f.unclear("%s is not a script of sh or bash", name)
		return
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), name)
	if err != nil {
		f.unclear("%s cannot be parsed: %v", name, err)
		return
	}
	f.own = map[string]bool{}
	syntax.Walk(file, func(n syntax.Node) bool {
		if d, ok := n.(*syntax.FuncDecl); ok {
			f.own[d.Name.Value] = true
		}
		return true
	})
	syntax.Walk(file, func(n syntax.Node) bool {
		f.node(name, n)
		return f.why == ""
	})
}

// plainFlags reports whether a word consists of shell flags that have no effect on what the script
// starts.
func plainFlags(word string) bool {
	return strings.HasPrefix(word, "-") && strings.Trim(word[1:], "eux") == "" && len(word) > 1
}

// node follows one part of a script, such as a command. If the part is of a kind that has no case here, node cannot
// tell what the part starts, and calls `unclear`.
func (f *follower) node(name string, n syntax.Node) {
	switch n := n.(type) {
	case nil, *syntax.File, *syntax.Stmt, *syntax.Comment, *syntax.Word, *syntax.Lit, *syntax.SglQuoted, *syntax.DblQuoted,
		*syntax.CmdSubst, *syntax.BinaryCmd, *syntax.Block, *syntax.Subshell, *syntax.IfClause, *syntax.WhileClause,
		*syntax.ForClause, *syntax.FuncDecl, *syntax.CaseClause, *syntax.CaseItem:
	case *syntax.WordIter:
		if !isOrdinary(n.Name.Value) {
			f.unclear("%s sets a variable in line %d that changes what programs start", name, n.Pos().Line())
		}
	case *syntax.ParamExp:
		if !n.Short && (n.Exp != nil || n.Repl != nil || n.Slice != nil || n.Index != nil || n.Excl || n.Length || n.Width) {
			f.unclear("%s computes with a variable in line %d", name, n.Pos().Line())
		}
	case *syntax.Assign:
		if n.Name != nil && !isOrdinary(n.Name.Value) || n.Index != nil || n.Array != nil {
			f.unclear("%s sets a variable in line %d that changes what programs start", name, n.Pos().Line())
		}
	case *syntax.Redirect:
		if word, ok := staticText(n.Word); ok {
			f.data(word)
		} else {
			f.unclear("%s opens a file in line %d whose name is not fixed", name, n.Pos().Line())
		}
	case *syntax.CallExpr:
		f.call(name, n)
	default:
		f.unclear("%s has a construct in line %d that cannot be followed", name, n.Pos().Line())
	}
}

// isOrdinary reports whether a variable has no influence on what a shell or a program starts. Names
// in lower case are ordinary, because programs read variables in upper case.
func isOrdinary(name string) bool {
	return strings.ToLower(name) == name && !strings.Contains(name, "proxy")
}

// printers lists commands that start nothing and read no file, with any arguments.
var printers = []string{"echo", "mkdir", "touch", "rm", "rmdir", "true", "false", ":", "exit", "return", "sleep", "pwd"}

// readers lists commands that start nothing, and that read only files among their arguments.
var readers = []string{"cat", "cp", "mv", "ln", "head", "tail", "cmp", "wc", "chmod", "ls"}

// call follows a simple command.
func (f *follower) call(name string, c *syntax.CallExpr) {
	if len(c.Args) == 0 {
		return
	}
	command, ok := staticText(c.Args[0])
	line := c.Pos().Line()
	args := c.Args[1:]
	program := command
	if dir := path.Dir(command); dir == "/bin" || dir == "/usr/bin" {
		program = path.Base(command)
	}
	switch {
	case !ok:
		f.unclear("%s starts a program in line %d whose name is not fixed", name, line)
	case f.own[command], slices.Contains(printers, program):
		f.words(args)
	case program == "set":
		for _, a := range args {
			if word, ok := staticText(a); !ok || !plainFlags(word) {
				f.unclear("%s sets an option of the shell in line %d", name, line)
			}
		}
	case slices.Contains(readers, program), (program == "test" || program == "[") && !evaluates(args):
		if !f.words(args) {
			f.unclear("%s reads a file in line %d whose name is not fixed", name, line)
		}
	case slices.Contains(shells, program) || command == "." || command == "source":
		f.run(name, line, args)
	case strings.Contains(command, "/") && !path.IsAbs(command):
		f.run(name, line, c.Args)
	default:
		f.unclear("%s starts %s in line %d, which may read or start any file", name, command, line)
	}
}

// evaluates reports whether a shell's test, such as [ -v WORD ], could start a program. Some of
// these tests evaluate a word as an expression, and an expression can start a program.
func evaluates(args []*syntax.Word) bool {
	return slices.ContainsFunc(args, func(w *syntax.Word) bool {
		word, ok := staticText(w)
		return !ok || word == "-v"
	})
}

// run follows the script that the first word names.
func (f *follower) run(name string, line uint, words []*syntax.Word) {
	if len(words) == 0 {
		f.unclear("%s reads commands in line %d from its input", name, line)
		return
	}
	word, ok := staticText(words[0])
	file, there := f.tree[path.Clean(word)]
	if !ok || !there {
		f.unclear("%s runs a script in line %d that the commit does not have", name, line)
		return
	}
	f.words(words[1:])
	if f.runs == nil {
		f.runs = map[string]bool{}
	}
	if !f.runs[file.Path] && f.read[file.Path] && file.Path != name {
		f.unclear("%s is read and run", file.Path) // the file is in the result as data, so its commands were not followed
		return
	}
	f.runs[file.Path] = true
	f.add(file)
}

// words adds the files that the arguments of a command name. It reports whether the text of each
// argument is always the same.
func (f *follower) words(words []*syntax.Word) bool {
	all := true
	for _, w := range words {
		if word, ok := staticText(w); ok {
			f.data(word)
		} else {
			all = false
		}
	}
	return all
}

// data adds the file that a word names. If the word names a folder, data adds all files in this
// folder.
func (f *follower) data(word string) {
	name := path.Clean(word)
	if file, ok := f.tree[name]; ok {
		f.add(file)
		return
	}
	for at := range f.tree {
		if name == "." || strings.HasPrefix(at, name+"/") {
			f.add(f.tree[at])
		}
	}
}

func (f *follower) add(file File) {
	if !f.read[file.Path] {
		f.read[file.Path] = true
		f.next = append(f.next, file)
	}
}

// staticText returns the text of a word if the shell always reads it as the same text. It returns
// false for any other word, such as a file name pattern or a variable.
func staticText(w *syntax.Word) (string, bool) {
	if w == nil {
		return "", false
	}
	if w.Lit() == "[" {
		return "[", true // the whole word is the command [; within a longer word, [ begins a pattern
	}
	var out strings.Builder
	for _, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			if strings.ContainsAny(p.Value, `*?[\~{`) {
				return "", false
			}
			out.WriteString(p.Value)
		case *syntax.SglQuoted:
			if p.Dollar {
				return "", false
			}
			out.WriteString(p.Value)
		case *syntax.DblQuoted:
			for _, inner := range p.Parts {
				lit, ok := inner.(*syntax.Lit)
				if !ok || p.Dollar || strings.Contains(lit.Value, `\`) {
					return "", false
				}
				out.WriteString(lit.Value)
			}
		default:
			return "", false
		}
	}
	return out.String(), true
}
