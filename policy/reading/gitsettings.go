package reading

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"coleo.dev/printable"
)

// gitVariables lists environment variables with which git reads other settings or starts programs.
var gitVariables = strings.Fields(`GIT_DIR GIT_WORK_TREE GIT_COMMON_DIR GIT_INDEX_FILE GIT_OBJECT_DIRECTORY
	GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_EXEC_PATH GIT_CONFIG GIT_CONFIG_COUNT GIT_CONFIG_PARAMETERS GIT_CONFIG_GLOBAL
	GIT_CONFIG_SYSTEM GIT_EXTERNAL_DIFF GIT_DIFF_OPTS GIT_TRACE GIT_TRACE2 GIT_TRACE2_EVENT GIT_TRACE2_PERF GIT_TRACE_SETUP
	GIT_TRACE_PACKET GIT_TRACE_PERFORMANCE GIT_TRACE_PACK_ACCESS GIT_TRACE_CURL GIT_TRACE_SHALLOW GIT_TRACE_REFS
	GIT_TRACE_PACKFILE GIT_TRACE_FSMONITOR GIT_ATTR_SOURCE GIT_NAMESPACE GIT_PAGER PAGER LESSOPEN LESS XDG_CONFIG_HOME
	GIT_REPLACE_REF_BASE GIT_GRAFT_FILE GIT_SHALLOW_FILE GIT_DISCOVERY_ACROSS_FILESYSTEM`)

// plainPagers lists the values of PAGER that only show text.
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

// hasName reports whether a name is in the list. It ignores case, because the file systems of some
// machines do.
func hasName(names []string, name string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) })
}

// settingsFiles returns the paths of git's settings files.
func (w Workspace) settingsFiles(dir string) ([]string, error) {
	repository, err := w.repositoryOf(dir)
	if err != nil {
		return nil, err
	}
	files := []string{filepath.Join(repository, "config"), "/etc/gitconfig", "/usr/local/etc/gitconfig"}
	if home := w.Machine.Env("HOME"); home != "" {
		files = append(files, filepath.Join(home, ".gitconfig"), filepath.Join(home, ".config/git/config"))
	}
	return files, nil
}

// repositoryOf returns the path of the folder .git of the repository that contains dir.
func (w Workspace) repositoryOf(dir string) (string, error) {
	at, err := w.readable(dir, ".")
	if err != nil {
		return "", err
	}
	for ; ; at = filepath.Dir(at) {
		names, err := w.Machine.Names(at)
		if err != nil {
			return "", fmt.Errorf("the folder %s cannot be read: %v", at, err)
		}
		if hasName(names, ".git") {
			return w.checkRepository(filepath.Join(at, ".git"))
		}
		if hasName(names, "HEAD") && hasName(names, "objects") && hasName(names, "refs") {
			return "", fmt.Errorf("%s can be a repository without a work tree", at)
		}
		if at == w.Root || at == "/" {
			return "", fmt.Errorf("the work folder has no repository of its own")
		}
	}
}

var (
	settingsHead = regexp.MustCompile(`^\[\s*([A-Za-z0-9.-]+)(\s+"[^"\\]*")?\s*\]$`)
	settingsLine = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9-]*)\s*(=\s*([^"\\;#]*|"[^"\\]*"))?$`)
)

// safeSettings lists git settings by section. With these settings, the known commands start no
// program. A nil list means that every setting of the section is safe.
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
			return fmt.Errorf("the line %q sorts by a key that can start a program", printable.Shortened(line))
		}
		if m == nil || !known || keys != nil && !slices.Contains(keys, strings.ToLower(m[1])) {
			return fmt.Errorf("the line %q may start a program", printable.Shortened(line))
		}
	}
	return nil
}
