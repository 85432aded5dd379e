package rules

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Setting is a setting that users of the agent CLI may have chosen.
type Setting struct {
	// The name of the setting in `coleo harness test --settings`. It consists of small letters,
	// digits, dots, dashes and underscores. The key is required.
	Name string `toml:"name"`
	// One sentence that describes the setting for people. The key is required.
	Doc string `toml:"doc"`
	// The arguments that apply the setting: `["--vim"]`.
	Args []templateText `toml:"args"`
	// The environment variables that apply the setting.
	Env map[string]templateText `toml:"env"`
	// The files that apply the setting. Each key is a path below HOME, and its value is the text of
	// the file. If a part of the launch writes the same file, Coleo merges the two texts of a JSON
	// or TOML file. In any other file, Coleo puts this text before the text of the part.
	Files map[string]templateText `toml:"files"`
	// The sentence with which Coleo refuses to start an arm that has the setting. Use this key if
	// the setting prevents Coleo from reading the screen or from typing. Without this key, Coleo
	// must work with the setting. This key needs `seen`.
	Refused string `toml:"refused"`
	// The signs by which Coleo detects, at the start of an arm, that the user has chosen the
	// setting. One sign is enough. Each sign has exactly one of `arg`, `env` and `file`. A sign
	// with `file_env` needs no `file`.
	Seen []Sign `toml:"seen"`
}

// Sign describes one sign that a user has chosen a setting.
type Sign struct {
	// The pattern that finds the setting in the command line. Coleo joins the arguments
	// of the command line with line ends.
	Arg patternText `toml:"arg"`
	// The environment variable that contains the setting.
	Env string `toml:"env"`
	// The file that contains the setting. Coleo searches for the file below HOME and in the work
	// folder. If the path is absolute, such as a file of the machine's administrator, Coleo
	// searches only there.
	File string `toml:"file"`
	// The environment variable that names another file instead of `file`.
	FileEnv string `toml:"file_env"`
	// The folder that contains `file`, below HOME and in the work folder.
	Folder string `toml:"folder"`
	// The environment variable that names another folder instead of `folder` below HOME.
	FolderEnv string `toml:"folder_env"`
	// The environment variable that names another folder instead of HOME.
	HomeEnv string `toml:"home_env"`
	// Whether the agent CLI also reads `file` in the folders above the work folder, up to the root of the
	// repository.
	Parents bool `toml:"parents"`
	// The pattern that finds the setting in the value of the variable `env`, or in the text of `file`.
	Pattern patternText `toml:"pattern"`

	arg, pattern *regexp.Regexp
}

// InArgs reports whether the command line argv shows the sign.
func (s Sign) InArgs(argv []string) bool {
	return s.arg != nil && s.arg.MatchString(strings.Join(argv, "\n"))
}

// In reports whether the given text shows the sign. The text is the value of the environment variable
// in s.Env, or the content of the file.
func (s Sign) In(text string) bool { return s.pattern != nil && s.pattern.MatchString(text) }

// absolute reports whether the path of the file is absolute. Coleo then searches for the file only
// there.
func (s Sign) absolute() bool { return s.Folder == "" && filepath.IsAbs(s.File) }

// Files returns the paths of all files that may contain the sign, for an arm with the given work
// folder and environment.
func (s Sign) Files(workdir string, env map[string]string) []string {
	switch named := env[s.FileEnv]; {
	case s.FileEnv != "" && filepath.IsAbs(named):
		return []string{named}
	case s.FileEnv != "" && named != "":
		return []string{filepath.Join(workdir, named)}
	case s.File == "":
		return nil
	case s.absolute():
		return []string{s.File}
	}
	home := env["HOME"]
	if named := env[s.HomeEnv]; s.HomeEnv != "" && named != "" {
		home = named
	}
	folder := filepath.Join(home, s.Folder)
	if named := env[s.FolderEnv]; s.FolderEnv != "" && named != "" {
		folder = named
	}
	paths := []string{filepath.Join(folder, s.File)}
	for _, above := range s.projects(workdir) {
		paths = append(paths, filepath.Join(above, s.Folder, s.File))
	}
	return paths
}

// projects returns the work folder. With Parents it also returns the folders above, up to the root
// of the repository, or all of them if there is no repository.
func (s Sign) projects(workdir string) []string {
	list := []string{workdir}
	for folder := filepath.Clean(workdir); s.Parents; {
		if _, err := os.Lstat(filepath.Join(folder, ".git")); err == nil || folder == filepath.Dir(folder) {
			break
		}
		folder = filepath.Dir(folder)
		list = append(list, folder)
	}
	return list
}

// Part returns the setting as a Part of a launch.
func (s Setting) Part() Part { return Part{Args: s.Args, Env: s.Env, Files: s.Files} }

// settings checks the list of settings that users may have chosen.
func (c *compiler) settings(list []Setting) {
	c.atMost("setting", len(list), maxSettings)
	taken := map[string]bool{}
	for i := range list {
		at, s := fmt.Sprintf("setting[%d]", i), &list[i]
		switch {
		case !names.MatchString(s.Name):
			c.fail(at, "a setting needs a name of small letters, digits, dots and dashes, not %q", s.Name)
		case taken[s.Name]:
			c.fail(at+".name", "there are two settings %q", s.Name)
		case s.Doc == "":
			c.fail(at, "setting %q needs a doc, one sentence for people", s.Name)
		case len(s.Args)+len(s.Env)+len(s.Files) == 0:
			c.fail(at, "setting %q needs args, env or files", s.Name)
		case s.Refused != "" && len(s.Seen) == 0:
			c.fail(at, "setting %q is refused, so it needs seen", s.Name)
		}
		taken[s.Name] = true
		c.plain(at+".doc", s.Doc)
		c.plain(at+".refused", s.Refused)
		c.part(at, s.Part())
		for j := range s.Seen {
			c.sign(fmt.Sprintf("%s.seen[%d]", at, j), s.Name, &s.Seen[j])
		}
	}
}

func (c *compiler) sign(at, setting string, s *Sign) {
	count := 0
	for _, text := range []string{s.Arg, s.Env, s.File + s.FileEnv} {
		if text != "" {
			count++
		}
	}
	below := filepath.Join(s.Folder, s.File)
	switch {
	case count != 1:
		c.fail(at, "setting %q: a sign needs one of arg, env and file", setting)
	case (s.Arg == "") != (s.Pattern != ""):
		c.fail(at, "setting %q: a sign with env or file needs a pattern, and a sign with arg must not have a pattern",
			setting)
	case s.File != "" && !s.absolute() && !filepath.IsLocal(below):
		c.fail(at+".file", "setting %q: the file %q is not below HOME", setting, below)
	}
	s.arg, s.pattern = c.regexp(at+".arg", s.Arg), c.regexp(at+".pattern", s.Pattern)
}
