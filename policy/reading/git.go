package reading

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"coleo.dev/policy/commandline"
	"coleo.dev/printable"
)

// judgeGit judges a git command. Git's settings can name programs, so the judge accepts only a repository with
// known settings.
func judgeGit(w Workspace, dir string, words []commandline.Word) error {
	for len(words) > 0 && (words[0].Text == "--no-pager" || words[0].Text == "-P") {
		words = words[1:]
	}
	if len(words) == 0 || words[0].Matched {
		return fmt.Errorf("the git command is not known")
	}
	name, words := gitName(words)
	c, known := gitCommands[name]
	if !known {
		return fmt.Errorf("%s is not known to only read", printable.Shortened(name))
	}
	dashes := slices.IndexFunc(words, func(w commandline.Word) bool { return w.Text == "--" && !w.Unknown })
	if dashes < 0 {
		dashes = len(words)
	}
	a, err := c.divideWords(words[:dashes])
	if err != nil {
		return err
	}
	if a.files = words[min(dashes+1, len(words)):]; len(a.files) > 0 && !c.paths {
		return fmt.Errorf("%s takes no paths after --", name)
	}
	if a.given["help"] {
		return fmt.Errorf("--help starts man, which is another program")
	}
	if c.check != nil {
		if err := c.check(w, dir, a); err != nil {
			return err
		}
	}
	if err := w.gitShows(c, dir, a); err != nil {
		return err
	}
	return w.gitSettings(dir)
}

// gitName returns the name of a git command, and the words after the name. The name of a subcommand, such as
// `stash list`, consists of two words.
func gitName(words []commandline.Word) (string, []commandline.Word) {
	name, rest := words[0].Text, words[1:]
	if name == "--version" {
		name = "version"
	}
	if name == "stash" && len(rest) > 0 && !rest[0].Unknown && !rest[0].Matched {
		return name + " " + rest[0].Text, rest[1:]
	}
	return name, rest
}

// gitShows checks the files whose content the command shows. A command that shows patches must name its files,
// because old commits can contain private files.
func (w Workspace) gitShows(c gitCommand, dir string, a arguments) error {
	for _, format := range slices.Concat(a.values["format"], a.values["pretty"]) {
		if !c.texts && startsGPG.MatchString(format) {
			return fmt.Errorf("its format %s can start a program", printable.Shortened(format))
		}
	}
	if c.texts {
		return nil
	}
	if err := w.onlyPlainRevisions(dir, a); err != nil {
		return err
	}
	if c.patches && a.showsContent(c) {
		if err := w.onlyCommits(c, dir, a); err != nil {
			return err
		}
	}
	isFolder := func(path commandline.Word) bool {
		resolved, err := w.readable(dir, path.Text)
		return err == nil && w.Machine.IsFolder(resolved)
	}
	if a.readsAttributes() && (len(a.files) == 0 || slices.ContainsFunc(a.files, isFolder)) {
		if err := w.checkAllAttributes(dir); err != nil {
			return err
		}
	}
	for _, path := range a.files {
		if a.isNamePattern(c, path) {
			if err := w.checkAllAttributes(dir); err != nil {
				return err
			}
			continue
		}
		if path.Unknown || !plainFile.MatchString(path.Text) {
			return fmt.Errorf("%s is not a plain file", printable.Shortened(path.Text))
		}
		resolved, err := w.readable(dir, path.Text)
		if err != nil {
			return err
		}
		if err := w.checkAttributes(dir, path.Text); err != nil {
			return err
		}
		if !c.patches || !a.showsContent(c) {
			continue
		}
		isTracked, err := w.inIndex(dir, path.Text)
		if err != nil {
			return err
		}
		if !isTracked || w.Machine.IsFolder(resolved) {
			return fmt.Errorf("%s can be or can have been a folder with private files: git's index has no such file", path.Text)
		}
		if !ofFile.MatchString(filepath.Base(path.Text)) {
			return fmt.Errorf("%s can have been a folder with private files: its name has no ending", path.Text)
		}
	}
	if a.given["follow"] && a.showsContent(c) {
		return fmt.Errorf("--follow shows files under their earlier names")
	}
	if c.patches && len(a.files) == 0 && a.showsContent(c) && (!c.named || !a.onlyFiles()) {
		return fmt.Errorf("it shows the content of files that are not named: write --stat, or the names after --")
	}
	return nil
}

// namePattern matches a pattern of git that selects names of files below the command's folder.
var namePattern = regexp.MustCompile(`^[A-Za-z0-9_*?][A-Za-z0-9_./*?+-]*$`)

// isNamePattern reports whether a path is a pattern and the command prints only the names of the matching
// files. A command that shows their content must not use a pattern, because a pattern also matches private
// files.
func (a arguments) isNamePattern(c gitCommand, path commandline.Word) bool {
	return !path.Unknown && strings.ContainsAny(path.Text, "*?") && namePattern.MatchString(path.Text) &&
		!strings.Contains(path.Text, "..") && (!c.patches || !a.showsContent(c)) && !a.given["follow"]
}

// onlyPlainRevisions refuses operands that are not revisions. It also refuses REVISION:FILE if the file is
// private.
func (w Workspace) onlyPlainRevisions(dir string, a arguments) error {
	for _, o := range a.operands {
		rev, file, isFile := strings.Cut(o.Text, ":")
		switch {
		case o.Matched || !revision.MatchString(o.Text):
			return fmt.Errorf("%s is not a plain revision", printable.Shortened(o.Text))
		case isFile && !plainFile.MatchString(file):
			return fmt.Errorf("%s is not a plain file", printable.Shortened(o.Text))
		case isFile:
			if name := privateName(file); name != "" {
				return fmt.Errorf("%s is private: %s", o.Text, name)
			}
			if err := w.checkRevisionFile(dir, rev, file); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkRevisionFile checks the file of an operand REVISION:FILE. It also checks the lists of attributes
// (.gitattributes) in all folders on the way to the file. A path that begins with ./ or ../ is relative to dir,
// and every other path is relative to the top of the work tree.
func (w Workspace) checkRevisionFile(dir, rev, file string) error {
	if err := w.checkCommit(dir, rev); err != nil {
		return err
	}
	if !strings.HasPrefix(file, "./") && !strings.HasPrefix(file, "../") {
		repository, err := w.repositoryOf(dir)
		if err != nil {
			return err
		}
		dir = filepath.Dir(repository)
	}
	return w.checkAttributes(dir, file)
}

// onlyCommits refuses revisions that may be a file or a folder instead of a commit. If the command c always
// shows content and its arguments contain no operand, onlyCommits checks HEAD, because git then shows HEAD.
func (w Workspace) onlyCommits(c gitCommand, dir string, a arguments) error {
	operands := a.operands
	if c.always && len(operands) == 0 {
		operands = []commandline.Word{{Text: "HEAD"}}
	}
	for _, o := range operands {
		if strings.Contains(o.Text, ":") {
			continue // checkRevisionFile checks this revision
		}
		for rev := range strings.SplitSeq(strings.ReplaceAll(o.Text, "...", ".."), "..") {
			if rev == "" {
				rev = "HEAD"
			}
			if err := w.checkCommit(dir, rev); err != nil {
				return err
			}
		}
	}
	return nil
}

// readsAttributes reports whether an option makes the command compare the contents of files. Git then reads
// lists of attributes (.gitattributes).
func (a arguments) readsAttributes() bool {
	return slices.ContainsFunc([]string{"stat", "shortstat", "numstat", "dirstat", "compact-summary", "S", "G", "p",
		"patch", "U", "unified"}, func(option string) bool { return a.given[option] })
}

// showsContent reports whether the command shows the content of files.
func (a arguments) showsContent(c gitCommand) bool {
	for _, patch := range []string{"p", "patch", "U", "unified"} {
		if a.given[patch] {
			return true
		}
	}
	if !c.always {
		return false
	}
	for _, less := range []string{"s", "no-patch", "stat", "shortstat", "numstat", "name-only", "name-status", "summary",
		"dirstat"} {
		if a.given[less] {
			return false
		}
	}
	return true
}

// onlyFiles reports whether all operands have the form REVISION:FILE and no option adds revisions. An operand
// with two dots does not count, because it can be a range of commits.
func (a arguments) onlyFiles() bool {
	adds := func(option string) bool { return a.given[option] }
	return len(a.operands) > 0 && !slices.ContainsFunc([]string{"all", "branches", "tags", "remotes"}, adds) &&
		!slices.ContainsFunc(a.operands, func(w commandline.Word) bool {
			return !strings.Contains(w.Text, ":") || strings.Contains(w.Text, "..") || w.Text[0] == '^'
		})
}

var (
	// startsGPG matches a format with which git can start a program to check a signature. A sign -, + or a
	// blank can stand between % and G.
	startsGPG = regexp.MustCompile(`%[-+ ]*[G(]`)
	revision  = regexp.MustCompile(`^[A-Za-z0-9_@^~{][A-Za-z0-9_.@^~{}/-]*(:[^:]+)?$`)
	// ofFile matches a name that a folder hardly ever has: one with an ending, or the usual name of a file. In an
	// earlier commit, a file of the index can be a folder. A log would then show the files in this folder.
	ofFile = regexp.MustCompile(`(?i)[^.]\.[a-z0-9_+-]+$|^(make|docker|gem|rake|proc|brew|jenkins|vagrant)file$|` +
		`^(licen[cs]e|copying|notice|readme|changelog|changes|news|authors|contributors|codeowners|version|todo)$`)
	// plainFile matches a path that contains no special characters of git's patterns.
	plainFile = regexp.MustCompile(`^[A-Za-z0-9_./ +@,-]+$`)
)
