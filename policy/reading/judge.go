package reading

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"coleo.dev/policy/commandline"
	"coleo.dev/printable"
)

// Line is a command line to judge.
type Line struct {
	Text  string
	Shell commandline.Shell
	Dir   string // absolute path of the folder in which the line runs
	// Shadowed lists the names of programs for which a start file of the shell defines aliases or
	// functions.
	Shadowed []string
}

// Judge returns nil if the line only reads, and reads only files of the workspace that are not private.
// Otherwise it returns an error that explains the reason to users.
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

// patternVariables lists variables of the environment that change which files a pattern of bash matches.
var patternVariables = []string{"GLOBIGNORE", "BASHOPTS"}

// Commands returns the commands that the line starts. It returns the errors of commandline.Parse.
func (w Workspace) Commands(l Line) ([]commandline.Command, error) {
	names := func(dir string) ([]string, error) {
		for _, variable := range patternVariables {
			if w.Machine.Env(variable) != "" {
				return nil, fmt.Errorf("the variable %s changes what patterns match", variable)
			}
		}
		if err := w.CheckPath(dir, "."); err != nil {
			return nil, err
		}
		return w.Machine.Names(dir)
	}
	return commandline.Parse(l.Text, l.Shell, l.Dir, names)
}

// judge is a function that judges the words after a program's name.
type judge func(w Workspace, dir string, words []commandline.Word) error

// JudgeCommand judges one command of a line, as Judge does.
func (w Workspace) JudgeCommand(c commandline.Command, shadowed []string) error {
	name := c.Words[0].Text
	p, ok := programs[name]
	switch {
	case !ok:
		return fmt.Errorf("%s is not known to only read", printable.Shortened(name))
	case slices.Contains(shadowed, name) || w.exportedFunction(name):
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
	if err := checkWidths(name, c.Words[1:]); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if p.own == nil {
		p.own = p.judge
	}
	if err := p.own(w, c.Dir, c.Words[1:]); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// exportedFunction reports whether the environment has a function of bash with the given name.
func (w Workspace) exportedFunction(name string) bool {
	return w.Machine.Env("BASH_FUNC_"+name+"%%") != "" || w.Machine.Env("BASH_FUNC_"+name+"()") != ""
}

// checkProgram refuses the name of a known program if a shell would start a file of the workspace
// for this name.
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

// checkFile refuses a path that must not be read. It judges the word - like a file with this name, because the
// shell and a few programs open such a file. For most programs, the word - stands for standard input.
func (w Workspace) checkFile(dir, path string) error {
	if path == "/dev/null" {
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

// judge judges the words after the program's name by the program's tables.
func (p program) judge(w Workspace, dir string, words []commandline.Word) error {
	a, err := p.divideWords(words)
	if err != nil {
		return err
	}
	paths, err := p.paths(a)
	if err != nil {
		return err
	}
	if p.operands != toTexts && !p.anywhere {
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
		if len(a.behind) > 0 {
			return nil, fmt.Errorf("on some systems it would write to %s", a.behind[0].Text)
		}
	case toPatternFiles:
		return a.searchedPaths(), nil
	case toFiles:
	}
	return a.operands, nil
}

// searchedPaths returns the paths in which a program searches. The first operand is the pattern,
// unless an option contains the pattern.
func (a arguments) searchedPaths() []commandline.Word {
	if a.given["e"] || a.given["f"] || a.given["regexp"] || a.given["files"] || a.given["type-list"] {
		return a.operands
	}
	return a.operands[min(1, len(a.operands)):]
}

// onlyFormat accepts a date command that shows the time, and refuses one that would set the time.
func onlyFormat(_ Workspace, _ string, a arguments) error {
	for _, o := range a.operands {
		if !strings.HasPrefix(o.Text, "+") {
			return fmt.Errorf("%s would set the clock", o.Text)
		}
	}
	return nil
}

// noFolders refuses folders as operands, because the judge does not check the files that the program would read in
// them.
func noFolders(w Workspace, dir string, a arguments) error {
	for _, o := range a.operands {
		if resolved, err := w.readable(dir, o.Text); err == nil && w.Machine.IsFolder(resolved) {
			return fmt.Errorf("%s is a folder", o.Text)
		}
	}
	return nil
}

// onlyNamed refuses to read standard input, because the program would save its input in a temporary file.
func onlyNamed(_ Workspace, _ string, a arguments) error {
	if len(a.operands) == 0 || slices.ContainsFunc(a.operands, func(w commandline.Word) bool { return w.Text == "-" }) {
		return fmt.Errorf("it writes its standard input to a file")
	}
	return nil
}

// tellsMounts matches a format of stat or find that prints a mount point, the kind of a file system, or a file's
// security label. To print these, the programs open files of the kernel.
var tellsMounts = regexp.MustCompile(`%[-+ #0-9.']*[mFZ]`)

// noMounts refuses the format %m of stat, because stat would open files of the kernel.
func noMounts(_ Workspace, _ string, a arguments) error {
	for _, format := range slices.Concat(a.values["c"], a.values["format"], a.values["printf"]) {
		if slices.ContainsFunc(tellsMounts.FindAllString(format, -1), func(m string) bool { return m[len(m)-1] == 'm' }) {
			return fmt.Errorf("its format %s shows a mount point", printable.Shortened(format))
		}
	}
	return nil
}

// noFollowing refuses tail's old syntax +5f. With this syntax, tail follows the file and never
// ends.
func noFollowing(_ Workspace, _ string, a arguments) error {
	for _, o := range a.operands {
		if strings.HasPrefix(o.Text, "+") {
			return fmt.Errorf("%s can be an option", o.Text)
		}
	}
	return nil
}

// deepNames returns a check that refuses a command if it can list the names in hidden folders. The program
// lists them if its options include deepOption and one of hiddenOptions. If deepOption is "", one of
// hiddenOptions is enough.
func deepNames(hiddenOptions, deepOption string) func(Workspace, string, arguments) error {
	return func(w Workspace, dir string, a arguments) error {
		if !strings.ContainsFunc(hiddenOptions, func(r rune) bool { return a.given[string(r)] }) && !a.given["all"] &&
			!a.given["almost-all"] ||
			deepOption != "" && !a.given[deepOption] && !a.given["recursive"] {
			return nil
		}
		return w.checkFolders(dir, a.operands, everything)
	}
}

var smallNumber = regexp.MustCompile(`^-?[0-9]{1,6}(\.[0-9]{1,3})?$`)

// mostLines is the largest number of lines that seq may print.
const mostLines = 1_000_000

// mostBetween is the largest size of the text that seq may print for each number, in bytes.
const mostBetween = 100

// shortSequence refuses large numbers, many steps, and steps of zero, because seq would then print a very long or
// endless sequence.
func shortSequence(_ Workspace, _ string, a arguments) error {
	var numbers []float64
	for _, o := range a.operands {
		n, err := strconv.ParseFloat(o.Text, 64)
		if err != nil || !smallNumber.MatchString(o.Text) {
			return fmt.Errorf("%s is not a small number", printable.Shortened(o.Text))
		}
		numbers = append(numbers, n)
	}
	if len(numbers) == 3 && (numbers[1] == 0 || math.Abs((numbers[2]-numbers[0])/numbers[1]) > mostLines) {
		return fmt.Errorf("the sequence is endless or very long")
	}
	for _, text := range slices.Concat(a.values["f"], a.values["s"]) {
		if wideSequence.MatchString(text) || len(text) > mostBetween {
			return fmt.Errorf("%s makes every line very long", printable.Shortened(text))
		}
	}
	return nil
}

// wideSequence matches a format of seq with a width of three digits or more.
var wideSequence = regexp.MustCompile(`%[^A-Za-z]*[0-9]{3,}`)
