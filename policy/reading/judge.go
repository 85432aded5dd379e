package reading

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"coleo.dev/policy/commandline"
)

// Line is a command line to judge.
type Line struct {
	Text  string
	Shell commandline.Shell
	Dir   string // absolute path of the folder in which it runs
	// Shadowed are names that mean something else in this shell than elsewhere, because a
	// file that the shell reads at its start makes them aliases or functions.
	Shadowed []string
}

// Judge returns nil if the line only reads, and only what may be read without a question.
// Otherwise the error says what stands against it, for users.
func (w Workspace) Judge(l Line) error {
	commands, err := w.Commands(l)
	if err != nil {
		return err
	}
	return w.JudgeAll(commands, l.Shadowed)
}

// JudgeAll judges all commands of a line, as Judge does.
func (w Workspace) JudgeAll(commands []commandline.Command, shadowed []string) error {
	for _, c := range commands {
		if err := w.JudgeCommand(c, shadowed); err != nil {
			return err
		}
	}
	if len(commands) == 0 {
		return fmt.Errorf("the line has no command")
	}
	return nil
}

// Commands returns what the line starts. The error is that of commandline.Parse.
func (w Workspace) Commands(l Line) ([]commandline.Command, error) {
	names := func(dir string) ([]string, error) {
		if err := w.CheckPath(dir, "."); err != nil {
			return nil, err
		}
		return w.Machine.Names(dir)
	}
	return commandline.Parse(l.Text, l.Shell, l.Dir, names)
}

// judge judges the words behind a program's name.
type judge func(w Workspace, dir string, words []commandline.Word) error

// JudgeCommand judges one command of a line, as Judge does.
func (w Workspace) JudgeCommand(c commandline.Command, shadowed []string) error {
	name := c.Words[0].Text
	p, ok := programs[name]
	switch {
	case !ok:
		return fmt.Errorf("%s is not known to only read", shortened(name))
	case slices.Contains(shadowed, name):
		return fmt.Errorf("the user's shell makes %s an alias or a function", name)
	}
	if err := w.CheckPath(c.Dir, "."); err != nil {
		return fmt.Errorf("the folder of the command: %w", err)
	}
	if err := w.checkProgram(name, p.builtin); err != nil {
		return err
	}
	if err := w.checkFiles(c.Dir, c.Inputs); err != nil {
		return err
	}
	if p.own == nil {
		p.own = p.judge
	}
	if err := p.own(w, c.Dir, c.Words[1:]); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// shortened returns a name that a message can show.
func shortened(name string) string {
	const most = 40
	if runes := []rune(name); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return name
}

// checkProgram refuses a program of the workspace that has the name of a known one.
func (w Workspace) checkProgram(name string, builtin bool) error {
	if builtin {
		return nil
	}
	path, err := w.Machine.Program(name)
	if err != nil {
		return fmt.Errorf("the program %s is not found: %v", name, err)
	}
	if strings.HasPrefix(path, strings.TrimSuffix(w.Root, "/")+"/") {
		return fmt.Errorf("the program %s is a file of the workspace", name)
	}
	return nil
}

// checkFile refuses a path that must not be read. The path - is the standard input.
func (w Workspace) checkFile(dir, path string) error {
	if path == "-" || path == "/dev/null" {
		return nil
	}
	return w.CheckPath(dir, path)
}

func (w Workspace) checkFiles(dir string, paths []commandline.Word) error {
	for _, path := range paths {
		if err := w.checkFile(dir, path.Text); err != nil {
			return err
		}
	}
	return nil
}

// judge judges a program by its tables.
func (p program) judge(w Workspace, dir string, words []commandline.Word) error {
	a, err := p.divide(words)
	if err != nil {
		return err
	}
	paths, err := p.paths(a)
	if err != nil {
		return err
	}
	if p.operands != toTexts {
		paths = append(paths, a.behind...)
	}
	if err := w.checkFiles(dir, append(paths, a.files...)); err != nil {
		return err
	}
	if p.check != nil {
		return p.check(w, dir, a)
	}
	return nil
}

// paths returns the operands that are paths.
func (p program) paths(a arguments) ([]commandline.Word, error) {
	switch p.operands {
	case toTexts:
		return nil, nil
	case toNothing:
		if len(a.operands) > 0 {
			return nil, fmt.Errorf("%s is not expected", a.operands[0].Text)
		}
	case toOneFile:
		if len(a.operands) > 1 {
			return nil, fmt.Errorf("it would write to %s", a.operands[1].Text)
		}
	case toPatternFiles:
		return a.searched(), nil
	case toFiles:
	}
	return a.operands, nil
}

// searched returns the paths in which a program searches. The first operand is the
// pattern, unless an option has it.
func (a arguments) searched() []commandline.Word {
	if a.given["e"] || a.given["f"] || a.given["regexp"] || a.given["files"] || a.given["type-list"] {
		return a.operands
	}
	return a.operands[min(1, len(a.operands)):]
}

// onlyFormat lets date show the time, and not set it.
func onlyFormat(_ Workspace, _ string, a arguments) error {
	for _, o := range a.operands {
		if !strings.HasPrefix(o.Text, "+") {
			return fmt.Errorf("%s would set the clock", o.Text)
		}
	}
	return nil
}

// noFolders refuses folders: what the program reads there is not judged.
func noFolders(w Workspace, dir string, a arguments) error {
	for _, o := range a.operands {
		if resolved, err := w.readable(dir, o.Text); err == nil && w.Machine.IsFolder(resolved) {
			return fmt.Errorf("%s is a folder", o.Text)
		}
	}
	return nil
}

// grepFolders judges what grep reads in folders. It goes into hidden ones, too.
func grepFolders(w Workspace, dir string, a arguments) error {
	if w.Machine.Env("GREP_OPTIONS") != "" {
		return fmt.Errorf("GREP_OPTIONS gives it options that are not seen")
	}
	if !a.given["r"] && !a.given["recursive"] {
		return nil
	}
	return w.checkFolders(dir, a.searched(), true)
}

// checkFolders judges all files below the paths, or below dir if there are none.
func (w Workspace) checkFolders(dir string, paths []commandline.Word, hidden bool) error {
	if len(paths) == 0 {
		paths = []commandline.Word{{Text: "."}}
	}
	for _, path := range paths {
		resolved, err := w.readable(dir, path.Text)
		if err != nil {
			return err
		}
		if !w.Machine.IsFolder(resolved) {
			continue
		}
		if err := w.checkBelow(resolved, hidden); err != nil {
			return err
		}
	}
	return nil
}

// rgFolders judges what rg reads. It leaves out hidden files, but it reads lists of
// ignored files in all folders above, and git's.
func rgFolders(w Workspace, dir string, a arguments) error {
	if w.Machine.Env("RIPGREP_CONFIG_PATH") != "" {
		return fmt.Errorf("RIPGREP_CONFIG_PATH gives it options that are not seen")
	}
	for above := filepath.Dir(w.Root); ; above = filepath.Dir(above) {
		names, err := w.Machine.Names(above)
		if err != nil {
			return fmt.Errorf("the folder %s cannot be read: %v", above, err)
		}
		for _, name := range []string{".gitignore", ".ignore", ".rgignore"} {
			if slices.Contains(names, name) {
				return fmt.Errorf("it reads %s", filepath.Join(above, name))
			}
		}
		if above == filepath.Dir(above) {
			break
		}
	}
	for _, name := range []string{".gitconfig", ".config/git"} {
		if home := w.Machine.Env("HOME"); home != "" && w.exists(filepath.Join(home, name)) {
			return fmt.Errorf("it reads %s", filepath.Join("~", name))
		}
	}
	return w.checkFolders(dir, a.searched(), false)
}

func (w Workspace) exists(path string) bool {
	names, err := w.Machine.Names(filepath.Dir(path))
	return err == nil && slices.Contains(names, filepath.Base(path))
}
