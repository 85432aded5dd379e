package reading

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"coleo.dev/policy/commandline"
	"coleo.dev/policy/reading/awk"
	"coleo.dev/policy/reading/jq"
	"coleo.dev/policy/reading/lengthening"
	"coleo.dev/printable"
)

// sedText returns a regular expression for the pattern or the replacement of a sed command. `end` is the
// character that ends the pattern, such as /.
func sedText(end string) string {
	if end == "/" {
		return `(?:[^][/\\;\n]|\\[^;\n]|` + lengthening.Bracketed + `)*`
	}
	bracketed := strings.ReplaceAll(lengthening.Bracketed, `/\\`, end+`/\\`)
	return `(?:[^][` + end + `\\;\n]|\\[^` + end + `;\n]|` + bracketed + `)*`
}

// sedScript matches a sed script that only prints, deletes or changes lines of sed's output. sedCommand matches
// a single command of such a script. Neither matches:
//   - the commands w, e and r, and the flags w and e of the command s. These write a file, start a program or
//     read another file.
//   - commands that keep text from line to line.
var sedScript, sedCommand = func() (*regexp.Regexp, *regexp.Regexp) {
	text := sedText("/")
	address := `(?:[0-9]+(?:~[0-9]+)?|\$|/` + text + `/I?)`
	addresses := `(?:` + address + `(?:,(?:` + address + `|\+[0-9]+))?\s*!?\s*)?`
	replaces := `y/` + text + `/` + text + `/`
	for _, end := range []string{"/", `\|`, "#", ",", "@"} {
		replaces += `|s` + end + `(` + sedText(end) + `)` + end + `(` + sedText(end) + `)` + end + `([gpiI0-9]*)`
	}
	command := `\s*` + addresses + `(?:[pdq=GN]|\{\s*[pdqn=](?:\s*;\s*[pdqn=])*\s*;?\s*\}|` + replaces + `)\s*`
	return regexp.MustCompile(`^(` + command + `(;|$))+\s*$`), regexp.MustCompile(`^` + command + `$`)
}()

// sedGrowth returns the largest factor by which the substitutions of a sed script can lengthen a line.
func sedGrowth(script string) int {
	times := 1
	for command := range strings.SplitSeq(script, ";") {
		m := sedCommand.FindStringSubmatch(command)
		for i := 1; i+2 < len(m); i += 3 {
			times = min(times*lengthening.By(m[i], m[i+1], strings.Contains(m[i+2], "g")), lengthening.Most+1)
		}
	}
	return times
}

func judgeSed(w Workspace, dir string, words []commandline.Word) error {
	a, err := options{flags: "nErsz", texts: "e", long: longOptions([]string{"quiet", "silent", "regexp-extended"},
		nil)}.divideWords(words)
	if err != nil {
		return err
	}
	scripts, files := a.values["e"], a.operands
	if len(scripts) == 0 && len(a.operands) > 0 && !a.operands[0].Matched {
		scripts, files = []string{a.operands[0].Text}, a.operands[1:]
	}
	isWrong := func(script string) bool { return !sedScript.MatchString(script) }
	if len(scripts) == 0 || slices.ContainsFunc(scripts, isWrong) {
		return fmt.Errorf("its script does more than print lines")
	}
	if sedGrowth(strings.Join(scripts, ";")) > lengthening.Most {
		return fmt.Errorf("its script can make a line more than %d times as long", lengthening.Most)
	}
	isOption := func(word commandline.Word) bool { return strings.HasPrefix(word.Text, "-") }
	if a.given["e"] && slices.ContainsFunc(a.behind, isOption) {
		return fmt.Errorf("on some systems %s is its script", printable.Shortened(files[0].Text))
	}
	return w.checkFiles(dir, append(files, a.behind...))
}

// awkGiven matches the beginning of NAME=VALUE, which the option -v sets. Group 1 is the name.
var awkGiven = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]*)=`)

// awkOperand matches an operand that sets a variable. In gawk, the name of the variable can have a
// namespace.
var awkOperand = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_:]*=`)

func judgeAwk(w Workspace, dir string, words []commandline.Word) error {
	a, err := options{texts: "Fv"}.divideWords(words)
	if err != nil {
		return err
	}
	if w.Machine.Env("GAWK_PERSIST_FILE") != "" {
		return fmt.Errorf("it keeps its variables in GAWK_PERSIST_FILE")
	}
	if len(a.operands) == 0 || a.operands[0].Matched {
		return fmt.Errorf("its script is not known")
	}
	var given []string
	for _, v := range a.values["v"] {
		m := awkGiven.FindStringSubmatch(v)
		if m == nil || !awk.IsSettable(m[1]) {
			return fmt.Errorf("-v %s sets more than a variable of its own", printable.Shortened(v))
		}
		given = append(given, v)
	}
	files := slices.Concat(a.operands[1:], a.behind)
	for _, f := range files {
		if awkOperand.MatchString(f.Text) {
			return fmt.Errorf("%s sets a variable between two files", printable.Shortened(f.Text))
		}
	}
	if err := awk.Check(a.operands[0].Text, given); err != nil {
		return err
	}
	return w.checkFiles(dir, files)
}

func judgeJQ(w Workspace, dir string, words []commandline.Word) error {
	words, err := withoutValues(words)
	if err != nil {
		return err
	}
	a, err := options{flags: "rRcSMCjesna", long: longOptions([]string{"raw-output", "raw-input", "compact-output",
		"sort-keys", "slurp", "null-input", "exit-status", "join-output", "monochrome-output",
		"tab"}, nil)}.divideWords(words)
	if err != nil {
		return err
	}
	if len(a.operands) == 0 || a.operands[0].Matched {
		return fmt.Errorf("its filter is not known")
	}
	if err := jq.Check(a.operands[0].Text); err != nil {
		return err
	}
	if err := w.refuseHomeFiles(".jq"); err != nil {
		return err
	}
	return w.checkFiles(dir, append(a.operands[1:], a.behind...))
}

// withoutValues returns the words without --arg NAME VALUE and --argjson NAME VALUE.
func withoutValues(words []commandline.Word) ([]commandline.Word, error) {
	var out []commandline.Word
	for i := 0; i < len(words); i++ {
		if words[i].Text == "--" {
			return append(out, words[i:]...), nil
		}
		if words[i].Text != "--arg" && words[i].Text != "--argjson" {
			out = append(out, words[i])
			continue
		}
		if i+2 >= len(words) || slices.ContainsFunc(words[i:i+3], func(w commandline.Word) bool {
			return w.Unknown || w.Matched || w.Variable
		}) {
			return nil, fmt.Errorf("the value of %s is not known", words[i].Text)
		}
		i += 2
	}
	return out, nil
}

// refuseHomeFiles returns an error if one of the named files exists in HOME, because the program would
// read it.
func (w Workspace) refuseHomeFiles(names ...string) error {
	home := w.Machine.Env("HOME")
	if home == "" {
		return nil
	}
	for _, name := range names {
		if w.exists(filepath.Join(home, name)) {
			return fmt.Errorf("it reads %s", filepath.Join("~", name))
		}
	}
	return nil
}

// programName matches the name of a program.
var programName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.+-]*$`)

// whereIs judges the shell's built-in `command`. With -v, `command` only describes a name. Without -v, it
// starts a program.
func whereIs(w Workspace, dir string, words []commandline.Word) error {
	if len(words) < 2 || words[0].Text != "-v" {
		return fmt.Errorf("without -v it starts a program")
	}
	return whatIs(w, dir, words[1:])
}

// whatIs judges the shell's built-in `type`.
func whatIs(_ Workspace, _ string, words []commandline.Word) error {
	if err := allKnown(words); err != nil {
		return err
	}
	for _, word := range words {
		if word.Matched || !programName.MatchString(word.Text) {
			return fmt.Errorf("%s is no name of a program", printable.Shortened(word.Text))
		}
	}
	return nil
}
