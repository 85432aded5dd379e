package commandline

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// The functions in this file go through the syntax tree of a command line to find the commands that the line
// starts.

const (
	// MaxLine is the largest size of a command line that Parse accepts, in bytes. People
	// write shorter lines, and the time of parsing grows faster than the length.
	MaxLine = 10_000
	// mostCommands is the largest number of commands that a line may start. Without a bound, nested
	// loops could start the commands of their bodies any number of times.
	mostCommands = 500
	// deepest is the deepest nesting of groups, loops and substitutions that Parse accepts.
	deepest = 20
	// mostExpanded is the largest total size of all words after their expansion, in bytes. Without a bound, a line
	// could assign x=$x$x many times, and each time would double the value.
	mostExpanded = 1 << 20
	// mostPiped is the largest number of commands in one pipe. Many programs can print more than they
	// read, so the output of a long pipe could be very large.
	mostPiped = 10
)

// Shell is a kind of shell.
type Shell string

// These are the shells that Parse knows.
const (
	Bash  Shell = "bash"
	POSIX Shell = "sh"  // dash, BusyBox and every other shell called sh
	Zsh   Shell = "zsh" // Parse accepts only plain words, lists and pipes of zsh
)

// ShellOf returns the kind of shell of a program such as /bin/bash. If Parse does not know the
// shell, ShellOf returns false.
func ShellOf(program string) (Shell, bool) {
	switch name := filepath.Base(program); name {
	case "bash", "zsh":
		return Shell(name), true
	case "sh", "dash", "ash":
		return POSIX, true
	}
	return "", false
}

// Command is a program that the line starts, or a built-in command of the shell.
type Command struct {
	Words  []Word // the program's name, followed by its arguments
	Inputs []Word // files that the shell opens for its standard input
	Dir    string // absolute path of the folder in which the command runs
}

// Word is one word of a command, as the program receives it.
type Word struct {
	Text string
	// Unknown is true if the text depends on the output of a command or on a variable. In that case
	// Text is "". If an unknown word is not in quotes, the shell can split it into several words.
	Unknown bool
	// Variable is true if the text depends on a variable of the environment, which can contain a
	// secret. Unknown is then also true.
	Variable bool
	// Matched is true if the word is a file name that the shell puts in place of a pattern such as *.go.
	Matched bool
}

// Unclear is the error for a line that Parse cannot interpret with certainty.
type Unclear struct{ Why string }

func (u *Unclear) Error() string { return u.Why }

func unclear(format string, a ...any) error { return &Unclear{Why: fmt.Sprintf(format, a...)} }

// Names is a function that returns the names in a folder. Parse needs these names for file name
// patterns. The path of the folder is absolute.
type Names func(dir string) ([]string, error)

// Parse returns the commands that a shell in the folder dir would start for the line. The commands
// are in no particular order. They include commands that run only under a condition. If Parse
// cannot interpret the line with certainty, it returns an *Unclear.
func Parse(line string, shell Shell, dir string, names Names) ([]Command, error) {
	if err := checkText(line); err != nil {
		return nil, err
	}
	if err := checkDialect(line, shell); err != nil {
		return nil, err
	}
	file, err := syntax.NewParser(syntax.Variant(variantOf(shell)), syntax.KeepComments(true)).
		Parse(strings.NewReader(line), "")
	if err != nil {
		return nil, unclear("the line is not valid for %s: %v", shell, err)
	}
	if hasComment(file) && strings.Contains(line, "$(") {
		return nil, unclear("the line has a comment and a substitution: shells differ in where such a comment ends")
	}
	if hasComment(file) && strings.Contains(line, "<<") {
		// For a shell, a # directly after the end word belongs to this word. The parser sees a comment there.
		return nil, unclear("the line has a comment and a here-document")
	}
	w := walker{shell: shell, names: names, count: new(int), expanded: new(int), dir: dir, set: map[string]string{}}
	if err := w.list(file.Stmts); err != nil {
		return nil, err
	}
	return w.out, nil
}

func hasComment(file *syntax.File) bool {
	found := false
	syntax.Walk(file, func(n syntax.Node) bool {
		_, isComment := n.(*syntax.Comment)
		found = found || isComment
		return true
	})
	return found
}

// variantOf returns the syntax in which a line of the given shell is parsed. For zsh, this is the
// syntax of bash, because checkZsh accepts only lines that mean the same in zsh and bash.
func variantOf(shell Shell) syntax.LangVariant {
	if shell == POSIX {
		return syntax.LangPOSIX
	}
	return syntax.LangBash
}

// walker goes through the syntax tree of a line.
type walker struct {
	shell Shell
	names Names
	out   []Command
	count *int // the number of commands so far, including those of substitutions
	// expanded is the total size of the expanded words so far, in bytes.
	expanded *int
	depth    int
	// piped is the number of pipes that contain the current command.
	piped int
	// substituted is the number of nested substitutions, such as $(COMMAND), that contain the current part of the
	// line.
	substituted int

	dir   string
	moved bool // true after a cd, which changes the folder for the rest of the first statement
	// set contains the variables that the line sets to known values.
	set map[string]string
	// conditional means that the shell may skip the current command. Such a command must not change
	// anything on which later commands depend.
	conditional bool
}

// followPart calls `part` to follow one part of the line. It sets w.conditional meanwhile, so that the walker
// refuses a part that sets a variable or changes the folder. The rest of the line could depend on such a
// change, and the shell may skip the part.
func (w *walker) followPart(part func(*walker) error) error {
	w.depth++
	if w.depth > deepest {
		return unclear("the line is nested deeper than %d", deepest)
	}
	was := w.conditional
	w.conditional = true
	err := part(w)
	w.conditional = was
	w.depth--
	return err
}

func (w *walker) list(stmts []*syntax.Stmt) error {
	for _, s := range stmts {
		if w.moved && !w.conditional {
			return unclear("the line continues after cd without &&, and cd can fail")
		}
		if err := w.stmt(s); err != nil {
			return err
		}
	}
	return nil
}

func (w *walker) stmt(s *syntax.Stmt) error {
	if s.Background || s.Coprocess || s.Disown {
		return unclear("the line starts a command in the background")
	}
	inputs, err := w.redirections(s.Redirs)
	if err != nil {
		return err
	}
	if len(inputs) > 0 {
		if _, ok := s.Cmd.(*syntax.CallExpr); !ok {
			return unclear("a group of commands reads a file")
		}
	}
	switch c := s.Cmd.(type) {
	case nil:
		return unclear("a redirection stands alone")
	case *syntax.CallExpr:
		return w.call(c, inputs)
	case *syntax.BinaryCmd:
		return w.binary(c)
	case *syntax.Block:
		return w.followPart(func(w *walker) error { return w.list(c.Stmts) })
	case *syntax.Subshell:
		return w.followPart(func(w *walker) error { return w.list(c.Stmts) })
	case *syntax.IfClause:
		return w.followPart(func(w *walker) error { return w.branches(c) })
	case *syntax.WhileClause:
		return unclear("a loop with while or until may never end")
	case *syntax.ForClause:
		return w.followPart(func(w *walker) error { return w.loop(c) })
	}
	return unclear("the line has %s", kindOf(s.Cmd))
}

func (w *walker) binary(c *syntax.BinaryCmd) error {
	if c.Op == syntax.AndStmt {
		return w.chain(c)
	}
	if c.Op != syntax.OrStmt && c.Op != syntax.Pipe {
		return unclear("the line has the operator %s", c.Op)
	}
	if c.Op == syntax.Pipe {
		if w.piped++; w.piped >= mostPiped {
			return unclear("the line has more than %d commands in a row of pipes", mostPiped)
		}
		defer func() { w.piped-- }()
	}
	return w.followPart(func(w *walker) error { return w.list([]*syntax.Stmt{c.X, c.Y}) })
}

// chain follows a list such as a && b && c, which the parser nests as ((a && b) && c).
func (w *walker) chain(c *syntax.BinaryCmd) error {
	parts := []*syntax.Stmt{c.Y}
	x := c.X
	for {
		b, ok := x.Cmd.(*syntax.BinaryCmd)
		if !ok || !isPlain(x) || b.Op != syntax.AndStmt {
			break
		}
		parts = append(parts, b.Y)
		x = b.X
	}
	dir, ok, err := w.changedDir(x)
	if err != nil {
		return err
	}
	return w.followPart(func(w *walker) error {
		if !ok {
			if err := w.stmt(x); err != nil {
				return err
			}
			dir = w.dir
		}
		for i := len(parts) - 1; i >= 0; i-- {
			if err := w.walkInFolder(dir, parts[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// walkInFolder follows a statement that runs in the folder dir.
func (w *walker) walkInFolder(dir string, s *syntax.Stmt) error {
	was := w.dir
	w.dir = dir
	err := w.followPart(func(w *walker) error { return w.stmt(s) })
	w.dir = was
	return err
}

func isPlain(s *syntax.Stmt) bool { return !s.Negated && len(s.Redirs) == 0 && !s.Background }

// changedDir returns the target of a statement such as `cd FOLDER`, and false for any other statement.
// Parse accepts a cd only at the beginning of an && list at the beginning of the line. The commands
// after && run in the target. After the list the folder is uncertain, because cd can fail.
func (w *walker) changedDir(s *syntax.Stmt) (string, bool, error) {
	c, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(c.Args) == 0 || c.Args[0].Lit() != "cd" {
		return "", false, nil
	}
	if len(c.Args) != 2 || len(c.Assigns) > 0 || !isPlain(s) || w.conditional || *w.count > 0 {
		return "", false, unclear("cd is followed only at the beginning of a line, before &&, with one folder")
	}
	words, err := w.word(c.Args[1])
	if err != nil {
		return "", false, err
	}
	to := words[0].Text
	switch {
	case len(words) != 1 || words[0].Unknown || words[0].Matched || to == "" || to == "-":
		return "", false, unclear("the folder of cd is not known")
	case strings.Contains(to, ".."):
		return "", false, unclear("the folder of cd has ..")
	case strings.HasPrefix(to, "-") || strings.HasPrefix(to, "+"):
		return "", false, unclear("cd has an option")
	}
	*w.count++
	w.moved = true
	w.out = append(w.out, Command{Words: []Word{{Text: "cd"}, {Text: to}}, Dir: w.dir})
	if !filepath.IsAbs(to) {
		to = filepath.Join(w.dir, to)
	}
	return to, true, nil
}

func (w *walker) branches(c *syntax.IfClause) error {
	for ; c != nil; c = c.Else {
		if err := w.list(slices.Concat(c.Cond, c.Then)); err != nil {
			return err
		}
	}
	return nil
}

// loop follows the body of a `for` loop once for each word of the loop.
func (w *walker) loop(c *syntax.ForClause) error {
	over, ok := c.Loop.(*syntax.WordIter)
	if c.Select || !ok || !over.InPos.IsValid() {
		return unclear("the loop is not one over words")
	}
	if !isOwn(over.Name.Value) {
		return unclear("the loop sets %s", over.Name.Value)
	}
	words, err := w.words(over.Items)
	if err != nil {
		return err
	}
	name := over.Name.Value
	for _, word := range words {
		if word.Unknown {
			return unclear("the words of the loop are not known")
		}
		w.set[name] = word.Text
		if err := w.list(c.Do); err != nil {
			return err
		}
	}
	delete(w.set, name) // the variable's value after the loop depends on whether the loop has run
	return nil
}

func (w *walker) call(c *syntax.CallExpr, inputs []Word) error {
	if len(c.Args) == 0 {
		if len(inputs) > 0 {
			return unclear("the shell opens a file for no command")
		}
		return w.assign(c.Assigns)
	}
	if err := checkEnv(c.Assigns); err != nil {
		return err
	}
	if w.shell == POSIX && slices.Contains(ofBash, c.Args[0].Lit()) {
		return unclear("if the shell is bash, %s is not a command, but changes what the line means", c.Args[0].Lit())
	}
	words, err := w.words(c.Args)
	if err != nil {
		return err
	}
	if len(words) == 0 || words[0].Unknown || words[0].Matched || words[0].Text == "" {
		return unclear("which program is started is not known")
	}
	if w.shell == POSIX && appends.MatchString(words[0].Text) {
		return unclear("if the shell is bash, %q changes a variable", words[0].Text)
	}
	if words[0].Text == "cd" {
		return unclear("cd is followed only at the beginning of a line, before &&, with one folder")
	}
	if *w.count++; *w.count > mostCommands {
		return unclear("the line starts more than %d commands", mostCommands)
	}
	w.out = append(w.out, Command{Words: words, Inputs: inputs, Dir: w.dir})
	return nil
}

// ofBash lists words that begin a piece of syntax in bash, but are names of commands in other shells called sh.
var ofBash = []string{"coproc", "function", "select", "time"}

// appends matches a word that bash reads as an assignment, but other shells called sh as the name of a command.
var appends = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*\+=`)

// kindOf returns the name of a piece of syntax, for messages.
func kindOf(n any) string {
	name := fmt.Sprintf("%T", n)
	return "a " + strings.TrimSuffix(strings.TrimPrefix(name, "*syntax."), "Clause")
}
