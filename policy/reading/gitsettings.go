package reading

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// gitVariables lists variables that make git read other settings or start programs.
var gitVariables = strings.Fields(`GIT_DIR GIT_WORK_TREE GIT_COMMON_DIR GIT_INDEX_FILE GIT_OBJECT_DIRECTORY
	GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_EXEC_PATH GIT_CONFIG GIT_CONFIG_COUNT GIT_CONFIG_PARAMETERS GIT_CONFIG_GLOBAL
	GIT_CONFIG_SYSTEM GIT_EXTERNAL_DIFF GIT_DIFF_OPTS GIT_TRACE GIT_TRACE2 GIT_TRACE2_EVENT GIT_TRACE2_PERF GIT_TRACE_SETUP
	GIT_TRACE_PACKET GIT_TRACE_PERFORMANCE GIT_TRACE_PACK_ACCESS GIT_TRACE_CURL GIT_TRACE_SHALLOW GIT_TRACE_REFS
	GIT_TRACE_PACKFILE GIT_TRACE_FSMONITOR GIT_ATTR_SOURCE GIT_NAMESPACE GIT_PAGER PAGER LESSOPEN LESS XDG_CONFIG_HOME
	GIT_REPLACE_REF_BASE GIT_GRAFT_FILE GIT_SHALLOW_FILE GIT_DISCOVERY_ACROSS_FILESYSTEM`)

// plainPagers are values of PAGER that only show text.
var plainPagers = []string{"cat", "less", "more"}

// gitSettings refuses a repository outside of the workspace. It also refuses a repository
// with a setting that may start a program.
func (w Workspace) gitSettings(dir string) error {
	for _, name := range gitVariables {
		value := w.Machine.Env(name)
		isPager := strings.HasSuffix(name, "PAGER") && slices.Contains(plainPagers, value)
		if value != "" && !isPager {
			return fmt.Errorf("the variable %s changes what git does", name)
		}
	}
	files, err := w.settingsFiles(dir)
	if err != nil {
		return err
	}
	for _, path := range files {
		content, err := w.Machine.Text(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = checkSettings(content)
		}
		if err != nil {
			return fmt.Errorf("the settings %s: %w", path, err)
		}
	}
	return nil
}

// settingsFiles returns the paths of the files in which git has its settings.
func (w Workspace) settingsFiles(dir string) ([]string, error) {
	repository, err := w.repository(dir)
	if err != nil {
		return nil, err
	}
	files := []string{filepath.Join(repository, "config"), "/etc/gitconfig", "/usr/local/etc/gitconfig"}
	if home := w.Machine.Env("HOME"); home != "" {
		files = append(files, filepath.Join(home, ".gitconfig"), filepath.Join(home, ".config/git/config"))
	}
	return files, nil
}

// repository returns the path of the folder .git of the repository that contains dir.
func (w Workspace) repository(dir string) (string, error) {
	at, err := w.readable(dir, ".")
	if err != nil {
		return "", err
	}
	for ; ; at = filepath.Dir(at) {
		names, err := w.Machine.Names(at)
		if err != nil {
			return "", fmt.Errorf("the folder %s cannot be read: %v", at, err)
		}
		if slices.Contains(names, ".git") {
			return w.checkRepository(filepath.Join(at, ".git"))
		}
		if slices.Contains(names, "HEAD") {
			return "", fmt.Errorf("%s can be a repository without a work tree", at)
		}
		if at == w.Root || at == "/" {
			return "", fmt.Errorf("the work folder has no repository of its own")
		}
	}
}

// checkRepository refuses a repository that has parts in other folders.
func (w Workspace) checkRepository(path string) (string, error) {
	for _, part := range []string{"", "config", "HEAD", "objects", "objects/pack", "objects/info", "refs", "packed-refs",
		"index"} {
		full := filepath.Join(path, part)
		if resolved, err := w.Machine.Resolve(full); err != nil || resolved != full || w.Machine.Special(full) != "" {
			return "", fmt.Errorf("%s is not a plain part of a repository", full)
		}
	}
	if !w.Machine.IsFolder(path) {
		return "", fmt.Errorf("%s is no folder", path)
	}
	for _, elsewhere := range []string{"commondir", "objects/info/alternates", "gitdir", "config.worktree"} {
		if w.exists(filepath.Join(path, elsewhere)) {
			return "", fmt.Errorf("%s leads elsewhere", filepath.Join(path, elsewhere))
		}
	}
	for _, part := range optionalParts {
		if err := w.plainOrMissing(filepath.Join(path, part)); err != nil {
			return "", err
		}
	}
	left := mostRefs
	for _, part := range []string{"refs", "logs"} {
		if err := w.plainBelow(filepath.Join(path, part), &left); err != nil {
			return "", err
		}
	}
	return path, w.noSharedIndex(path)
}

// mostRefs is the largest number of files in which a repository has its branches, tags and their logs.
// Looking at more would take too long. Git itself packs many tags into one file.
const mostRefs = 5_000

// plainBelow refuses a folder of a repository that has links or pipes below it. Git would open what a
// link leads to.
func (w Workspace) plainBelow(dir string, left *int) error {
	names, err := w.Machine.Names(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("the folder %s cannot be read: %v", dir, err)
	}
	for _, name := range names {
		if *left--; *left < 0 {
			return fmt.Errorf("the repository has more than %d files of refs", mostRefs)
		}
		path := filepath.Join(dir, name)
		if err := w.plainOrMissing(path); err != nil {
			return err
		}
		if !w.Machine.IsFolder(path) {
			continue
		}
		if err := w.plainBelow(path, left); err != nil {
			return err
		}
	}
	return nil
}

// optionalParts lists files and folders that git reads beside the necessary parts of a repository, if
// they exist. Their paths are relative to the folder .git.
var optionalParts = strings.Fields(`logs info info/attributes info/exclude info/grafts shallow objects/info/commit-graph objects/info/commit-graphs
	objects/pack/multi-pack-index ../.mailmap ../.gitattributes`)

// plainOrMissing refuses a path at which something else than a plain file or a folder is.
func (w Workspace) plainOrMissing(path string) error {
	resolved, err := w.Machine.Resolve(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil || resolved != path || w.Machine.Special(path) != "" {
		return fmt.Errorf("%s is neither a plain file nor a folder", path)
	}
	return nil
}

// noSharedIndex refuses an index that has a part in a second file. Git changes the time of the second
// file when it reads the index.
func (w Workspace) noSharedIndex(path string) error {
	names, err := w.Machine.Names(path)
	if err != nil {
		return fmt.Errorf("the folder %s cannot be read: %v", path, err)
	}
	for _, name := range names {
		if strings.HasPrefix(name, "sharedindex.") {
			return fmt.Errorf("git would change the time of %s", filepath.Join(path, name))
		}
	}
	return nil
}

var (
	settingsHead = regexp.MustCompile(`^\[\s*([A-Za-z0-9.-]+)(\s+"[^"\\]*")?\s*\]$`)
	settingsLine = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9-]*)\s*(=\s*([^"\\;#]*|"[^"\\]*"))?$`)
)

// safeSettings lists, by section, the git settings with which the known commands start no program.
// If the list of a section is nil, every setting in the section is safe.
var safeSettings = map[string][]string{
	"core": {"repositoryformatversion", "filemode", "bare", "logallrefupdates", "ignorecase", "precomposeunicode",
		"symlinks", "autocrlf", "eol", "editor", "quotepath", "abbrev", "safecrlf"},
	"user": nil, "author": nil, "committer": nil, "init": nil, "pull": nil, "push": nil, "fetch": {"prune"}, "color": nil,
	"rebase": nil,
	"merge":  {"conflictstyle", "ff"}, "commit": nil, "tag": {"gpgsign",
		"sort"}, "gpg": {"format"}, "branch": nil, "credential": nil,
	"remote": {"url", "fetch", "pushurl"}, "alias": nil, "safe": nil, "advice": nil, "help": {"autocorrect"},
	"rerere": nil,
	"diff":   {"renames", "algorithm", "colormoved", "mnemonicprefix"}, "log": {"date", "abbrevcommit"}, "column": nil,
	"http": nil, "url": nil, "sendemail": nil, "github": nil,
}

// checkSettings refuses a settings file that contains an unknown line.
func checkSettings(content string) error {
	section := ""
	for line := range strings.Lines(content) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		if m := settingsHead.FindStringSubmatch(line); m != nil {
			section = strings.ToLower(m[1])
			continue
		}
		m := settingsLine.FindStringSubmatch(line)
		keys, known := safeSettings[section]
		if m != nil && strings.EqualFold(m[1], "sort") && !sortKeys.MatchString(strings.Trim(strings.TrimSpace(m[3]), `"`)) {
			return fmt.Errorf("the line %q sorts by a key that can start a program", shortened(line))
		}
		if m == nil || !known || keys != nil && !slices.Contains(keys, strings.ToLower(m[1])) {
			return fmt.Errorf("the line %q is not known to start no program", shortened(line))
		}
	}
	return nil
}
