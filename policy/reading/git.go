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
)

// gitCommands contains the git commands that only read git's database, with their options. Commands
// that can write the index, such as status, are not in this list.
var gitCommands = map[string]gitCommand{
	"log":  {options: gitLog, patches: true},
	"show": {options: gitLog, patches: true, always: true, check: onlyCommits},
	"diff": {options: gitLog, patches: true, always: true, check: onlyRevisions},
	"rev-parse": {options: options{long: longOptions([]string{"show-toplevel", "abbrev-ref", "short",
		"is-inside-work-tree", "verify", "git-dir", "show-prefix", "quiet"}, nil)}},
	"rev-list": {options: options{counts: "n", digits: true, long: longOptions([]string{"count", "all", "no-merges"},
		[]string{"max-count", "since", "until", "author"})}},
	"branch": {options: options{flags: "avr",
		long: longOptions([]string{"all", "remotes", "show-current", "list", "verbose"}, nil)}, check: noNames},
	"tag":        {options: options{flags: "l", long: longOptions([]string{"list"}, nil)}, check: noNames},
	"remote":     {check: noNames},
	"describe":   {options: options{long: longOptions([]string{"tags", "always", "all", "long"}, nil)}},
	"merge-base": {options: options{long: longOptions([]string{"is-ancestor"}, nil)}},
	"ls-files":   {options: options{flags: "sz", long: longOptions([]string{"stage", "cached"}, nil)}},
	"ls-tree":    {options: options{flags: "rdtl", long: longOptions([]string{"name-only", "full-tree"}, nil)}},
	"shortlog":   {options: options{flags: "sne", long: longOptions([]string{"summary", "numbered", "all"}, nil)}},
}

var gitLog = options{flags: "psz", counts: "nU", texts: "SG", digits: true, long: map[string]value{"oneline": none,
	"graph": none,
	"all":   none, "decorate": optional, "no-decorate": none, "stat": optional, "shortstat": none, "numstat": none,
	"name-only": none, "name-status": none, "no-patch": none, "patch": none, "reverse": none, "merges": none,
	"no-merges":    none,
	"first-parent": none, "follow": none, "abbrev-commit": none, "no-color": none, "color": optional, "summary": none,
	"max-count": count, "since": text, "until": text, "after": text, "before": text, "author": text, "grep": text,
	"date": text, "format": text, "pretty": text, "cached": none, "staged": none, "dirstat": none, "branches": none,
	"tags":    none,
	"unified": count, "no-ext-diff": none, "no-textconv": none}}

// gitCommand describes one command of git.
type gitCommand struct {
	options
	patches bool // the command can show the content of files
	always  bool // the command shows content even without an option
	check   func(w Workspace, dir string, a arguments) error
}

// git judges a git command. Settings of git can name programs, so this function accepts only known
// settings.
func git(w Workspace, dir string, words []commandline.Word) error {
	for len(words) > 0 && (words[0].Text == "--no-pager" || words[0].Text == "-P") {
		words = words[1:]
	}
	if len(words) == 0 || words[0].Matched {
		return fmt.Errorf("which command is not known")
	}
	c, known := gitCommands[words[0].Text]
	if !known {
		return fmt.Errorf("%s is not known to only read", shortened(words[0].Text))
	}
	paths := slices.IndexFunc(words, func(w commandline.Word) bool { return w.Text == "--" && !w.Unknown })
	if paths < 0 {
		paths = len(words)
	}
	a, err := c.divide(words[1:paths])
	if err != nil {
		return err
	}
	if a.given["help"] {
		return fmt.Errorf("--help starts man: which is another program")
	}
	if c.check != nil {
		if err := c.check(w, dir, a); err != nil {
			return err
		}
	}
	if err := w.gitShows(c, dir, a, words[min(paths+1, len(words)):]); err != nil {
		return err
	}
	return w.gitSettings(dir)
}

// gitShows checks which files the command shows the content of. Old commits can contain private
// files. So a command that shows patches must name its files.
func (w Workspace) gitShows(c gitCommand, dir string, a arguments, paths []commandline.Word) error {
	for _, format := range slices.Concat(a.values["format"], a.values["pretty"]) {
		if startsGPG.MatchString(format) {
			return fmt.Errorf("its format %s can start a program", shortened(format))
		}
	}
	for _, o := range a.operands {
		_, file, isFile := strings.Cut(o.Text, ":")
		switch {
		case o.Matched || !revision.MatchString(o.Text):
			return fmt.Errorf("%s is not a plain revision", shortened(o.Text))
		case isFile && !plainFile.MatchString(file):
			return fmt.Errorf("%s is not a plain file", shortened(o.Text))
		case isFile:
			if name := privateName(file); name != "" {
				return fmt.Errorf("%s is private: %s", o.Text, name)
			}
		}
	}
	for _, path := range paths {
		if path.Unknown || !plainFile.MatchString(path.Text) {
			return fmt.Errorf("%s is not a plain file", shortened(path.Text))
		}
		resolved, err := w.readable(dir, path.Text)
		if err != nil {
			return err
		}
		if c.patches && a.showsContent(c) && (w.Machine.IsFolder(resolved) || !w.exists(resolved)) {
			return fmt.Errorf("%s is or was a folder, which can have had private files", path.Text)
		}
	}
	if a.given["follow"] && a.showsContent(c) {
		return fmt.Errorf("--follow shows files under their earlier names")
	}
	if c.patches && len(paths) == 0 && a.showsContent(c) && !onlyFiles(a.operands) {
		return fmt.Errorf("it shows the content of files that are not named: write --stat, or the names behind --")
	}
	return nil
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

// onlyFiles reports whether all operands have the form REVISION:FILE.
func onlyFiles(operands []commandline.Word) bool {
	return len(operands) > 0 && !slices.ContainsFunc(operands,
		func(w commandline.Word) bool { return !strings.Contains(w.Text, ":") })
}

var (
	// startsGPG matches a format of git that can start a program to check a signature. A sign after %
	// adds a line or a blank.
	startsGPG = regexp.MustCompile(`%[-+ ]*[G(]`)
	revision  = regexp.MustCompile(`^[A-Za-z0-9_@^~{][A-Za-z0-9_.@^~{}/-]*(:[^:]+)?$`)
	// plainFile matches a path that contains no special characters of git's patterns.
	plainFile = regexp.MustCompile(`^[A-Za-z0-9_./ +@,-]+$`)
)

func noNames(_ Workspace, _ string, a arguments) error {
	if len(a.operands) > 0 {
		return fmt.Errorf("it would make or change %s", shortened(a.operands[0].Text))
	}
	return nil
}

// anyObject matches names that do not always name a commit. They can also name another kind of
// object.
var anyObject = regexp.MustCompile(`^(.*-g)?[0-9a-fA-F]{4,}$`)

// onlyCommits refuses a hash, because git show prints objects of any kind, including files.
func onlyCommits(_ Workspace, _ string, a arguments) error {
	for _, o := range a.operands {
		if anyObject.MatchString(o.Text) {
			return fmt.Errorf("%s can be the content of a file: write %s^{commit}", o.Text, o.Text)
		}
	}
	return nil
}

// wholeBraces matches a revision in which each brace that opens is closed.
var wholeBraces = regexp.MustCompile(`^[^{}]*(\{[^{}]*\}[^{}]*)*$`)

// onlyRevisions refuses a diff of the work tree, because such a diff can write the index and start
// filters.
func onlyRevisions(w Workspace, dir string, a arguments) error {
	revisions := 0
	for _, o := range a.operands {
		revisions++
		if w.exists(filepath.Join(dir, o.Text)) {
			return fmt.Errorf("%s is a file of the work tree", o.Text)
		}
		from, to, isRange := strings.Cut(o.Text, "..")
		switch {
		case strings.Contains(o.Text, "^@"):
			return fmt.Errorf("%s can be no revision at all", o.Text)
		case isRange && (!wholeBraces.MatchString(from) || !wholeBraces.MatchString(to)):
			return fmt.Errorf("the dots of %s can be a part of one revision", o.Text)
		case isRange:
			revisions++
		}
	}
	if revisions < 2 && !a.given["cached"] && !a.given["staged"] {
		return fmt.Errorf("a diff of the work tree can write the index")
	}
	return nil
}

// gitVariables lists variables that make git read other settings or start programs.
var gitVariables = strings.Fields(`GIT_DIR GIT_WORK_TREE GIT_COMMON_DIR GIT_INDEX_FILE GIT_OBJECT_DIRECTORY
	GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_EXEC_PATH GIT_CONFIG GIT_CONFIG_COUNT GIT_CONFIG_PARAMETERS GIT_CONFIG_GLOBAL
	GIT_CONFIG_SYSTEM GIT_EXTERNAL_DIFF GIT_DIFF_OPTS GIT_TRACE GIT_TRACE2 GIT_TRACE2_EVENT GIT_TRACE2_PERF GIT_TRACE_SETUP
	GIT_TRACE_PACKET GIT_TRACE_PERFORMANCE GIT_TRACE_PACK_ACCESS GIT_TRACE_CURL GIT_TRACE_SHALLOW GIT_TRACE_REFS
	GIT_TRACE_PACKFILE GIT_TRACE_FSMONITOR GIT_ATTR_SOURCE GIT_NAMESPACE GIT_PAGER PAGER LESSOPEN LESS XDG_CONFIG_HOME
	GIT_REPLACE_REF_BASE GIT_DISCOVERY_ACROSS_FILESYSTEM`)

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
	repository, err := w.repository(dir)
	if err != nil {
		return err
	}
	files := []string{filepath.Join(repository, "config"), "/etc/gitconfig", "/usr/local/etc/gitconfig"}
	if home := w.Machine.Env("HOME"); home != "" {
		files = append(files, filepath.Join(home, ".gitconfig"), filepath.Join(home, ".config/git/config"))
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
	return path, nil
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
		if m == nil || !known || keys != nil && !slices.Contains(keys, strings.ToLower(m[1])) {
			return fmt.Errorf("the line %q is not known to start no program", shortened(line))
		}
	}
	return nil
}
