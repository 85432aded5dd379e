package reading

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"coleo.dev/printable"
)

// noNames refuses operands, because with an operand the command creates or changes something.
func noNames(_ Workspace, _ string, a arguments) error {
	if len(a.operands) > 0 {
		return fmt.Errorf("it would make or change %s", printable.Shortened(a.operands[0].Text))
	}
	return nil
}

// sortKeys matches the keys by which branches and tags may be sorted. With other keys, git can start gpg or
// another git.
var sortKeys = regexp.MustCompile(`^-?(refname|creatordate|committerdate|authordate|taggerdate|version:refname|` +
	`v:refname)$`)

// onlyListed returns a check for a command that lists names, such as branch. With one of the given options,
// an operand is a pattern, so the check accepts it. Without such an option, the command would create a branch
// or tag with the name in the operand, so the check refuses it.
func onlyListed(options ...string) func(Workspace, string, arguments) error {
	return func(w Workspace, dir string, a arguments) error {
		if err := a.checkRefs(); err != nil {
			return err
		}
		if slices.ContainsFunc(options, func(o string) bool { return a.given[o] }) {
			return nil
		}
		return noNames(w, dir, a)
	}
}

// refsOf lists the options that select branches and tags by a commit. The commit is the word after the
// option.
var refsOf = []string{"contains", "no-contains", "merged", "no-merged", "points-at"}

var (
	// plainCommit matches a revision that does not have the form REVISION:FILE.
	plainCommit = regexp.MustCompile(`^[A-Za-z0-9_@][A-Za-z0-9_.@^~{}/-]*$`)
	// refFormat matches a value of git's option --format that has only harmless placeholders. None of them
	// starts a program or shows the content of a file.
	refFormat = regexp.MustCompile(`^([^%]|%%|%\((HEAD|(refname|upstream)(:short)?|objecttype|objectname(:short)?|` +
		`subject|(author|committer)name|(author|committer|creator)date(:(short|iso|relative|unix|iso8601))?)\))*$`)
	// refPattern matches a pattern for the names of refs.
	refPattern = regexp.MustCompile(`^refs(/[A-Za-z0-9_*-][A-Za-z0-9_.*-]*)*/?$`)
)

// checkRefs checks the values of the options that list branches, tags and other refs.
func (a arguments) checkRefs() error {
	for _, key := range a.values["sort"] {
		if !sortKeys.MatchString(key) {
			return fmt.Errorf("the key %s may start a program", printable.Shortened(key))
		}
	}
	for _, format := range a.values["format"] {
		if !refFormat.MatchString(format) {
			return fmt.Errorf("its format %s is not known to only print names", printable.Shortened(format))
		}
	}
	for _, option := range refsOf {
		for _, commit := range a.values[option] {
			if !plainCommit.MatchString(commit) {
				return fmt.Errorf("%s is not a plain revision", printable.Shortened(commit))
			}
		}
	}
	return nil
}

// onlyRefs refuses operands that are not patterns for the names of refs.
func onlyRefs(_ Workspace, _ string, a arguments) error {
	for _, o := range a.operands {
		if !refPattern.MatchString(o.Text) {
			return fmt.Errorf("%s is no plain pattern of refs", printable.Shortened(o.Text))
		}
	}
	return a.checkRefs()
}

// onlyNames returns a check for a command. The command must have exactly one operand, which must be in
// `names`. With a second operand, the command would set something.
func onlyNames(names ...string) func(Workspace, string, arguments) error {
	return func(_ Workspace, _ string, a arguments) error {
		if len(a.operands) != 1 || !slices.Contains(names, a.operands[0].Text) {
			return fmt.Errorf("it is not known to only read %v", names)
		}
		return nil
	}
}

// secretURL matches an address that can contain a password: before an @ or after a ?. The caller first removes
// the users of ssh addresses, such as ssh://git@, because these are not secret.
var secretURL = regexp.MustCompile(`(?i)[a-z][a-z0-9+.-]*://[^/\s"]*@|://[^\s"]*\?`)

var sshURL = regexp.MustCompile(`(?i)\b(git\+)?ssh://[a-z0-9._-]+@`)

// noAddresses refuses a command that lists addresses if an address in git's settings can contain a
// password.
func noAddresses(w Workspace, dir string, a arguments) error {
	if err := noNames(w, dir, a); err != nil || !a.given["v"] && !a.given["verbose"] {
		return err
	}
	files, err := w.settingsFiles(dir)
	if err != nil {
		return err
	}
	for _, path := range files {
		content, err := w.Machine.Text(path)
		if err == nil && secretURL.MatchString(sshURL.ReplaceAllString(content, "")) {
			return fmt.Errorf("it can print a password of the settings %s", path)
		}
	}
	return nil
}

// filePattern matches a pattern of git for names of files. It does not match git's special words, such as
// :(attr).
var filePattern = regexp.MustCompile(`^[A-Za-z0-9_./*?+@-]+$`)

// onlyPatterns refuses operands that are not patterns for names of files. Such a pattern selects names in git's
// index.
func onlyPatterns(_ Workspace, _ string, a arguments) error {
	for _, o := range slices.Concat(a.operands, a.files) {
		if o.Unknown || !filePattern.MatchString(o.Text) {
			return fmt.Errorf("%s is no plain pattern of names", printable.Shortened(o.Text))
		}
	}
	return nil
}

// oneBlamed checks the file of git blame, which prints the whole file. The file follows --, or it is one of
// at most two operands. Both operands are checked as files, because git itself decides which of them is the
// revision.
func oneBlamed(w Workspace, dir string, a arguments) error {
	files, revisions := a.files, a.operands
	if len(files) == 0 {
		files, revisions = a.operands, nil
	}
	if len(files) == 0 || len(files)+len(revisions) > 2 {
		return fmt.Errorf("it is not known which file it prints")
	}
	for _, file := range files {
		if file.Unknown || file.Matched || !plainFile.MatchString(file.Text) {
			return fmt.Errorf("%s is not a plain file", printable.Shortened(file.Text))
		}
		if _, err := w.readable(dir, file.Text); err != nil {
			return err
		}
		if err := w.checkAttributes(dir, file.Text); err != nil {
			return err
		}
	}
	return w.onlyPlainRevisions(dir, arguments{operands: revisions})
}

// checkAttributes refuses a list of attributes (.gitattributes) that is not a plain file. Git reads the lists
// in all folders from the top of the work tree down to the file.
func (w Workspace) checkAttributes(dir, file string) error {
	at := filepath.Join(dir, filepath.Dir(file))
	for len(at) >= len(w.Root) {
		if err := w.plainOrMissing(filepath.Join(at, ".gitattributes")); err != nil {
			return err
		}
		at = filepath.Dir(at)
	}
	return nil
}

// oneObject accepts a git cat-file that prints one object. With -p, the object must certainly be a commit
// or a file of a commit.
func oneObject(w Workspace, dir string, a arguments) error {
	modes := 0
	for _, mode := range []string{"p", "t", "s", "e"} {
		if a.given[mode] {
			modes++
		}
	}
	if modes != 1 || len(a.operands) != 1 {
		return fmt.Errorf("it is not known which object it prints")
	}
	if !a.given["p"] {
		return nil
	}
	return w.onlyCommits(gitCommand{}, dir, a)
}

// shownCommits refuses a git show unless its operands are certainly commits. Git show prints objects of any
// kind, including files.
func shownCommits(w Workspace, dir string, a arguments) error {
	return w.onlyCommits(gitCommand{always: true}, dir, a)
}

// wholeBraces matches a revision in which each brace that opens is closed.
var wholeBraces = regexp.MustCompile(`^[^{}]*(\{[^{}]*\}[^{}]*)*$`)

// isNamed reports whether a file may exist at the path. A link counts as a file, even if its target is
// missing.
func (w Workspace) isNamed(dir, path string) bool {
	at := dir
	for name := range strings.SplitSeq(path, "/") {
		if name == "" || name == "." {
			continue
		}
		if name == ".." || !w.Machine.IsFolder(at) {
			return true // behind a link, the meaning of the rest of the path is unknown
		}
		names, err := w.Machine.Names(at)
		if err != nil {
			return true
		}
		if !hasName(names, name) {
			return false
		}
		at = filepath.Join(at, name)
	}
	return true
}

// onlyRevisions accepts only a diff between revisions or with --cached. A diff of the work tree can write
// the index and start filters.
func onlyRevisions(w Workspace, dir string, a arguments) error {
	revisions := 0
	for _, o := range a.operands {
		revisions++
		if w.isNamed(dir, o.Text) {
			return fmt.Errorf("%s is a file of the work tree", o.Text)
		}
		from, to, isRange := strings.Cut(o.Text, "..")
		switch {
		case strings.Contains(o.Text, "^@"):
			return fmt.Errorf("it is not certain that %s is a revision", o.Text)
		case isRange && (!wholeBraces.MatchString(from) || !wholeBraces.MatchString(to)):
			return fmt.Errorf("the dots in %s may belong to the name of one revision", o.Text)
		case isRange:
			revisions++
		}
	}
	if revisions < 2 && !a.given["cached"] && !a.given["staged"] {
		return fmt.Errorf("a diff of the work tree can write the index")
	}
	return nil
}
