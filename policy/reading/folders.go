package reading

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"coleo.dev/policy/commandline"
	"coleo.dev/printable"
)

// mostBelow is the largest number of files that a command may read below the folders on its line. Checking
// more would take too long.
const mostBelow = 20_000

// selection describes which files a recursive command reads.
type selection struct {
	// hidden reports whether the command reads a file or a folder whose name begins with a dot.
	hidden func(name string) bool
	// leaves reports whether the command skips a folder or a file.
	leaves func(name string, folder bool) bool
	// visit is called for each file, even for a skipped one.
	visit func(path string) error
	// links is true if the command reads the file that a symbolic link leads to.
	links bool
	// folderLinks is true if the command also reads a folder that a symbolic link leads to.
	folderLinks bool
}

func always(string) bool { return true }

func skipNone(string, bool) bool { return false }

// everything selects all files, including those in hidden folders.
var everything = selection{hidden: always, leaves: skipNone, visit: func(string) error { return nil }}

// checkFolders checks all files that s selects below the paths. If there are no paths, it checks
// the files below dir.
func (w Workspace) checkFolders(dir string, paths []commandline.Word, s selection) error {
	if len(paths) == 0 {
		paths = []commandline.Word{{Text: "."}}
	}
	left := mostBelow
	for _, path := range paths {
		resolved, err := w.readable(dir, path.Text)
		if err != nil {
			return err
		}
		if !w.Machine.IsFolder(resolved) {
			continue
		}
		if err := w.walk(resolved, s, false, &left); err != nil {
			return err
		}
	}
	return nil
}

// walk returns an error if the command would read a private file below the folder dir. dirIsPrivate is true
// if dir itself is private. walk may visit at most filesLeft more files.
func (w Workspace) walk(dir string, s selection, dirIsPrivate bool, filesLeft *int) error {
	names, err := w.Machine.Names(dir)
	if err != nil {
		return fmt.Errorf("the folder %s cannot be read: %v", dir, err)
	}
	for _, name := range names {
		if *filesLeft--; *filesLeft < 0 {
			return fmt.Errorf("%s has more than %d files", dir, mostBelow)
		}
		path := filepath.Join(dir, name)
		if err := s.visit(path); err != nil {
			return err
		}
		resolved, err := w.Machine.Resolve(path)
		if err != nil || resolved != path {
			if s.links && !s.leaves(name, false) && !errors.Is(err, fs.ErrNotExist) {
				to, err := w.readable(dir, path)
				if err != nil {
					return err
				}
				if s.folderLinks && w.Machine.IsFolder(to) {
					return fmt.Errorf("%s leads to a folder", path)
				}
			}
			continue // skip the link, because most recursive programs do not follow links to folders
		}
		folder := w.Machine.IsFolder(path)
		if strings.HasPrefix(name, ".") && !s.hidden(name) || s.leaves(name, folder) {
			continue
		}
		isPrivate := dirIsPrivate || privateName(name) != ""
		if folder {
			if err := w.walk(path, s, isPrivate, filesLeft); err != nil {
				return err
			}
			continue
		}
		if isPrivate {
			return fmt.Errorf("%s is private", path)
		}
		if what := w.Machine.Special(path); what != "" {
			return fmt.Errorf("%s %s", path, what)
		}
	}
	return nil
}

// plainName matches a name that contains no pattern characters.
var plainName = regexp.MustCompile(`^[A-Za-z0-9_.-]+$`)

// diffFolders checks all files below the folders that diff compares. Without -r, this check is stricter than
// necessary, because diff then reads only the files directly in the folders. If one of the two is a file, diff reads
// the file with this name in the other one, even if it is excluded.
func diffFolders(w Workspace, dir string, a arguments) error {
	excluded := slices.Concat(a.values["x"], a.values["exclude"])
	isFile := func(path commandline.Word) bool {
		resolved, err := w.readable(dir, path.Text)
		return err != nil || !w.Machine.IsFolder(resolved)
	}
	if slices.ContainsFunc(a.operands, isFile) {
		excluded = nil
	}
	s := everything
	s.links, s.folderLinks = true, true
	s.leaves = func(name string, _ bool) bool { return plainName.MatchString(name) && slices.Contains(excluded, name) }
	return w.checkFolders(dir, a.operands, s)
}

// grepFolders checks which files a recursive grep reads. Such a grep also reads hidden folders.
func grepFolders(w Workspace, dir string, a arguments) error {
	if w.Machine.Env("GREP_OPTIONS") != "" {
		return fmt.Errorf("the variable GREP_OPTIONS adds options that Coleo does not see")
	}
	for _, list := range a.files {
		if err := w.checkPatterns(dir, list.Text); err != nil {
			return err
		}
	}
	if !a.given["r"] && !a.given["recursive"] {
		return nil
	}
	// If both --include and --exclude are given, the last option that matches a file decides. So neither
	// option is sure to exclude a file, and grepFolders ignores both.
	var included []string
	if !a.given["exclude"] {
		included = a.values["include"]
	}
	s := everything
	s.links = true // the greps of BusyBox and toybox follow links
	s.leaves = func(name string, folder bool) bool {
		if folder {
			return plainName.MatchString(name) && slices.Contains(a.values["exclude-dir"], name)
		}
		return len(included) > 0 && !slices.ContainsFunc(included, func(glob string) bool { return canMatch(glob, name) })
	}
	return w.checkFolders(dir, a.searchedPaths(), s)
}

// largestPatterns is the largest size of a file of patterns for grep, in bytes. Grep needs much memory for a
// longer list.
const largestPatterns = 20_000

// checkPatterns refuses a file of patterns that is so long that grep would need very much memory.
func (w Workspace) checkPatterns(dir, path string) error {
	resolved, err := w.readable(dir, path)
	if err != nil {
		return err
	}
	text, err := w.Machine.Text(resolved)
	if errors.Is(err, fs.ErrNotExist) && path != "-" {
		return nil
	}
	if err != nil || len(text) > largestPatterns || repeatsTooOften(text) {
		return fmt.Errorf("the patterns in %s may need very much memory", path)
	}
	return nil
}

// plainGlob matches a glob that contains only plain characters and *.
var plainGlob = regexp.MustCompile(`^[A-Za-z0-9_.*-]+$`)

// canMatch reports whether a glob can match the name of a file. If the glob is not plain, canMatch
// always returns true.
func canMatch(glob, name string) bool {
	base := glob[strings.LastIndexByte(glob, '/')+1:]
	if !plainGlob.MatchString(base) {
		return true
	}
	expr := strings.ReplaceAll(regexp.QuoteMeta(base), `\*`, `.*`)
	re, err := regexp.Compile(`(?is)^` + expr + `$`)
	return err != nil || re.MatchString(name)
}

// rg skips each file that is listed in a file with one of these names.
var ignoreLists = []string{".gitignore", ".ignore", ".rgignore"}

// typeGlobs contains the globs of each of rg's file types.
var typeGlobs = map[string][]string{
	"go": {"*.go"}, "py": {"*.py", "*.pyi"}, "python": {"*.py", "*.pyi"}, "rust": {"*.rs"}, "java": {"*.java", "*.jsp*",
		"*.properties"},
	"ts": {"*.ts", "*.tsx", "*.cts", "*.mts"}, "css": {"*.css", "*.scss"}, "toml": {"*.toml", "Cargo.lock"},
	"js": {"*.js", "*.jsx", "*.vue", "*.cjs", "*.mjs"}, "html": {"*.htm*", "*.ejs"}, "c": {"*.c", "*.h", "*.H", "*.in",
		"*.cats"},
	"json": {"*.json*", "composer.lock", "*.sarif"}, "yaml": {"*.yaml", "*.yml"},
	"md": {"*.m*"}, "markdown": {"*.m*"},
	"ruby": {"*.rb", "*.gemspec", "*.rbw", "Gemfile", "Rakefile", "config.ru", ".irbrc"},
}

var fewThreads = regexp.MustCompile(`^[0-9]{1,2}$`)

// rgFolders checks which files rg reads. rg skips hidden files, unless a glob, a file type or an
// ignore list names them. rg reads git's ignore lists and the ignore lists of all parent folders.
func rgFolders(w Workspace, dir string, a arguments) error {
	if w.Machine.Env("RIPGREP_CONFIG_PATH") != "" {
		return fmt.Errorf("the variable RIPGREP_CONFIG_PATH adds options that Coleo does not see")
	}
	for _, threads := range slices.Concat(a.values["j"], a.values["threads"]) {
		if !fewThreads.MatchString(threads) {
			return fmt.Errorf("%s threads are too many", printable.Shortened(threads))
		}
	}
	if err := w.checkAbove(dir, a.searchedPaths()); err != nil {
		return err
	}
	var globs []string
	for _, option := range []string{"g", "glob", "iglob"} {
		for _, glob := range a.values[option] {
			if !strings.HasPrefix(glob, "!") {
				globs = append(globs, glob)
			}
		}
	}
	for _, name := range slices.Concat(a.values["t"], a.values["type"]) {
		list, known := typeGlobs[name]
		if !known {
			return fmt.Errorf("the type %s can have hidden files", printable.Shortened(name))
		}
		globs = append(globs, list...)
	}
	s := selection{leaves: skipNone, visit: w.checkList, hidden: func(name string) bool {
		return slices.ContainsFunc(globs, func(glob string) bool { return canMatch(glob, name) })
	}}
	return w.checkFolders(dir, a.searchedPaths(), s)
}

// checkAbove checks the ignore lists that rg reads outside of the searched folders. These are the lists in the
// folders above `paths`, and the user's ignore lists of git.
func (w Workspace) checkAbove(dir string, paths []commandline.Word) error {
	if len(paths) == 0 {
		paths = []commandline.Word{{Text: "."}}
	}
	for _, path := range paths {
		at, err := w.readable(dir, path.Text)
		if err != nil {
			return err
		}
		if !w.Machine.IsFolder(at) {
			at = filepath.Dir(at)
		}
		for ; len(at) >= len(w.Root) && at != "/"; at = filepath.Dir(at) {
			for _, list := range append([]string{".git"}, ignoreLists...) {
				if err := w.checkList(filepath.Join(at, list)); err != nil {
					return err
				}
			}
		}
	}
	for above := w.Root; above != "/"; {
		above = filepath.Dir(above)
		names, err := w.Machine.Names(above)
		if err != nil {
			return fmt.Errorf("the folder %s cannot be read: %v", above, err)
		}
		for _, name := range ignoreLists {
			if slices.Contains(names, name) {
				return fmt.Errorf("it reads %s", filepath.Join(above, name))
			}
		}
	}
	return w.checkUserLists()
}

// checkUserLists checks the user's ignore list of git. It refuses settings of git that name another list.
func (w Workspace) checkUserLists() error {
	home := w.Machine.Env("HOME")
	if home == "" {
		return nil
	}
	if w.Machine.Env("XDG_CONFIG_HOME") != "" {
		return fmt.Errorf("the variable XDG_CONFIG_HOME names other ignore lists")
	}
	for _, name := range []string{".gitconfig", ".config/git/config", ".config/git/ignore"} {
		path := filepath.Join(home, name)
		text, err := w.Machine.Text(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil || strings.Contains(strings.ToLower(text), "excludesfile") {
			return fmt.Errorf("it reads %s, which can name an ignore list", filepath.Join("~", name))
		}
		if filepath.Base(name) == "ignore" {
			if err := checkIgnored(path, text); err != nil {
				return err
			}
		}
	}
	return nil
}

// exists reports whether a file or a folder exists at the path. If the machine cannot find out, exists returns
// true.
func (w Workspace) exists(path string) bool {
	_, err := w.Machine.Text(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// takesBack matches a line of an ignore list that begins with ! and cannot name a hidden file. Such a line
// makes rg read files that an earlier line excludes. takesBack matches no line with a brace or a bracket,
// because these can stand for a dot.
var takesBack = regexp.MustCompile(`^!([^{[]*/)?[A-Za-z0-9_][^/{[]*/?\s*$`)

// checkList checks the ignore list at `path`. If the path is a folder .git, it checks the ignore list in that
// folder. It accepts a path of any other file. It refuses a list that can make rg read a hidden file, and a
// list that is a symbolic link.
func (w Workspace) checkList(path string) error {
	name := filepath.Base(path)
	switch {
	case name == ".git":
		path = filepath.Join(path, "info/exclude")
	case !slices.Contains(ignoreLists, name):
		return nil
	}
	text, err := w.Machine.Text(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s cannot be read: %v", path, err)
	}
	if resolved, err := w.Machine.Resolve(path); err != nil || resolved != path || w.Machine.Special(path) != "" {
		return fmt.Errorf("%s is not a plain file", path)
	}
	return checkIgnored(path, text)
}

// checkIgnored returns an error if the text of the ignore list at `path` can make rg read a hidden file.
func checkIgnored(path, text string) error {
	for line := range strings.Lines(text) {
		line = strings.TrimPrefix(line, "\ufeff")
		if strings.HasPrefix(line, "!") && !takesBack.MatchString(line) {
			return fmt.Errorf("%s can make it read a hidden file", path)
		}
	}
	return nil
}
