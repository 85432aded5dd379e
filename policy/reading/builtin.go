package reading

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"coleo.dev/policy/commandline"
	"coleo.dev/printable"
)

// judgeEcho allows any text as arguments, except variables that can hold a secret.
func judgeEcho(_ Workspace, _ string, words []commandline.Word) error {
	for _, word := range words {
		if word.Variable {
			return fmt.Errorf("it prints a variable of the environment, which can hold a secret")
		}
	}
	return nil
}

// judgeCd checks the arguments of cd. If CDPATH is set, judgeCd refuses cd, because the shell could
// then enter a folder that Coleo has not checked.
func judgeCd(w Workspace, dir string, words []commandline.Word) error {
	if w.Machine.Env("CDPATH") != "" {
		return fmt.Errorf("the variable CDPATH is set")
	}
	resolved, err := w.readable(dir, words[0].Text)
	if err != nil {
		return err
	}
	if !w.Machine.IsFolder(resolved) {
		return fmt.Errorf("%s is not a folder", words[0].Text)
	}
	return nil
}

var digits = regexp.MustCompile(`^[0-9]{1,3}$`)

func judgeExit(_ Workspace, _ string, words []commandline.Word) error {
	if len(words) > 1 || len(words) == 1 && !digits.MatchString(words[0].Text) {
		return fmt.Errorf("its argument is not a number")
	}
	return nil
}

// formatText matches a format of printf whose directives only print. It does not match %n, which
// would set a variable.
var formatText = regexp.MustCompile(`^([^%\\]|\\[\\nrt"'0-7]|%%|%[-+ #0]*[0-9]*(\.[0-9]+)?[sdiuoxXcbq])*$`)

var (
	// directive matches a part of a format that takes an argument. Group 1 is the kind.
	directive   = regexp.MustCompile(`%[-+ #0]*[0-9]*(?:\.[0-9]+)?([sdiuoxXcbq])`)
	plainNumber = regexp.MustCompile(`^[-+]?(0[xX][0-9a-fA-F]+|[0-9]*)$`)
)

// judgePrintf checks the arguments of printf. It refuses the option -v, which would set a variable.
func judgePrintf(_ Workspace, _ string, words []commandline.Word) error {
	if len(words) == 0 || words[0].Unknown || strings.HasPrefix(words[0].Text, "-") || words[0].Matched ||
		!formatText.MatchString(words[0].Text) {
		return fmt.Errorf("its format does more than print")
	}
	kinds := directive.FindAllStringSubmatch(strings.ReplaceAll(words[0].Text, "%%", ""), -1)
	for i, word := range words[1:] {
		isNumber := len(kinds) > 0 && strings.Contains("diuoxX", kinds[i%len(kinds)][1])
		switch {
		case word.Variable || word.Unknown && isNumber:
			return fmt.Errorf("an argument is not known before the command runs")
		case isNumber && !plainNumber.MatchString(word.Text):
			return fmt.Errorf("%s is no number, and some shells calculate it", printable.Shortened(word.Text))
		}
	}
	return nil
}

func judgeBracket(w Workspace, dir string, words []commandline.Word) error {
	if len(words) == 0 || words[len(words)-1].Text != "]" {
		return fmt.Errorf("it has no ]")
	}
	return judgeTest(w, dir, words[:len(words)-1])
}

var (
	ofFiles = []string{"-e", "-f", "-d", "-r", "-w", "-x", "-s", "-L", "-h"}
	ofTexts = []string{"-n", "-z"}
	between = []string{"=", "!="}
	numeric = []string{"-eq", "-ne", "-lt", "-le", "-gt", "-ge"}
	number  = regexp.MustCompile(`^-?[0-9]{1,18}$`)
)

// judgeTest checks the arguments of the command `test`. It refuses operators that it does not know. For -eq and
// similar operators, it refuses operands that are not numbers, because some shells run code in them.
func judgeTest(w Workspace, dir string, words []commandline.Word) error {
	var args []string
	if len(words) > 1 && words[0].Text == "!" {
		words = words[1:]
	}
	for i, word := range words {
		isText := i == 1 && len(words) == 2 && slices.Contains(ofTexts, words[0].Text) ||
			i != 1 && len(words) == 3 && slices.Contains(between, words[1].Text)
		if word.Variable || word.Unknown && !isText {
			return fmt.Errorf("an argument is not known before the command runs")
		}
		args = append(args, word.Text)
	}
	switch {
	case len(args) == 2 && slices.Contains(ofFiles, args[0]):
		return w.checkFile(dir, args[1])
	case len(args) == 2 && slices.Contains(ofTexts, args[0]):
		return nil
	case len(args) == 3 && slices.Contains(between, args[1]):
		return nil
	case len(args) == 3 && slices.Contains(numeric, args[1]) && number.MatchString(args[0]) && number.MatchString(args[2]):
		return nil
	}
	return fmt.Errorf("this condition is not known to only read")
}

// These lists contain words of find that only select and print files. They are grouped by the argument that
// follows the word: none, a text, or a file.
var (
	findAlone = strings.Fields(`-print -print0 -ls -prune -quit -depth -xdev -mount -noleaf -daystart -empty -true
		-false -readable -writable -executable -o -or -a -and -not ! ( ) ,`)
	findText = strings.Fields(`-name -iname -path -ipath -wholename -iwholename -regex -iregex -regextype -lname -type
		-size -maxdepth -mindepth -mtime -mmin -atime -amin -ctime -cmin -perm -links -inum -printf
		-newermt`)
	findFile = []string{"-newer"}
)

func judgeFind(w Workspace, dir string, words []commandline.Word) error {
	if err := allKnown(words); err != nil {
		return err
	}
	i := 0
	for ; i < len(words) && !beginsExpression(words[i].Text); i++ {
		if err := w.CheckPath(dir, words[i].Text); err != nil {
			return err
		}
	}
	for ; i < len(words); i++ {
		word := words[i].Text
		alone := slices.Contains(findAlone, word)
		isFile := slices.Contains(findFile, word)
		switch {
		case words[i].Matched:
			return fmt.Errorf("%s was made from a pattern", word)
		case alone:
			continue
		case !isFile && !slices.Contains(findText, word):
			return fmt.Errorf("%s is not known to only read", word)
		}
		if i++; i == len(words) || words[i].Matched {
			return fmt.Errorf("the value of %s is not known", word)
		}
		if err := refusePrivateNames(words, i); err != nil {
			return err
		}
		if word == "-printf" && slices.ContainsFunc(tellsMounts.FindAllString(words[i].Text, -1), opensKernel) {
			return fmt.Errorf("its format %s opens files of the kernel", printable.Shortened(words[i].Text))
		}
		if isFile {
			if err := w.CheckPath(dir, words[i].Text); err != nil {
				return err
			}
		}
	}
	return nil
}

// opensKernel reports whether find must open a file of the kernel to print the given directive of a format. It
// must open one for %F and %Z, but not for %m, which prints permissions.
func opensKernel(part string) bool { return part[len(part)-1] != 'm' }

// refusePrivateNames refuses a test of find that looks for private files, such as `-name .git`. words[i] is the
// pattern of the test. A test may exclude private files: `! -name .git`, or `-name .git -prune`.
func refusePrivateNames(words []commandline.Word, i int) error {
	text := words[i].Text
	isName := strings.HasSuffix(words[i-1].Text, "name") || strings.HasSuffix(words[i-1].Text, "path")
	if !isName || privateName(text) == "" {
		return nil
	}
	prunes := slices.ContainsFunc(words[i:], func(w commandline.Word) bool { return w.Text == "-prune" })
	if prunes || i >= 2 && (words[i-2].Text == "!" || words[i-2].Text == "-not") {
		return nil
	}
	return fmt.Errorf("it looks for %s, which is private", text)
}

// beginsExpression reports whether the given word begins find's expression.
func beginsExpression(word string) bool {
	return strings.HasPrefix(word, "-") || word == "!" || word == "(" || word == ")" || word == ","
}
