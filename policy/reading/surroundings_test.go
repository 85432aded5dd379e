package reading

import (
	"os"
	"path/filepath"
	"testing"
)

// surrounding is a change of the workspace or of the environment, with a line that is allowed only
// without this change.
type surrounding struct {
	line  string
	files map[string]string // content by path; the content of a link is -> and its target
	env   map[string]string
}

// surroundings lists the changes by what they do.
var surroundings = map[string]surrounding{
	"the shell reads a link -":        {line: "cat < -", files: map[string]string{"-": "->../outside/plain.txt"}},
	"a program reads a link -":        {line: "rev -", files: map[string]string{"-": "->../outside/plain.txt"}},
	"grep follows a link to a file":   {line: "grep -r x open", files: map[string]string{"open/l": "->../../outside/plain.txt"}},
	"grep follows a link to a device": {line: "grep -r x open", files: map[string]string{"open/l": "->/proc/self/environ"}},
	"a list between root and path":    {line: "rg x deep/er", files: map[string]string{"deep/er/f": "", "deep/.ignore": "!.env\n"}},
	"a list with braces":              {line: "rg x open", files: map[string]string{"open/.ignore": "!{.env,x/b}\n"}},
	"a list with brackets":            {line: "rg x open", files: map[string]string{"open/.ignore": "!?[x/b]\n"}},
	"a list that is a link":           {line: "rg x open", files: map[string]string{"open/.ignore": "->../../outside/plain.txt"}},
	"a list of an inner repository":   {line: "rg x open", files: map[string]string{"open/.git/info/exclude": "!.env\n"}},
	"an inner repository elsewhere":   {line: "rg x open", files: map[string]string{"open/.git": "gitdir: /elsewhere\n"}},
	"a type with a hidden file":       {line: "rg -t ruby x open", files: map[string]string{"open/.irbrc": "x"}},
	"a setting names a list":          {line: "rg x open", files: map[string]string{"../home/.gitconfig": "[core]\nexcludesFile=x\n"}},
	"the user's list takes back":      {line: "rg x open", files: map[string]string{"../home/.config/git/ignore": "!.env\n"}},
	"another folder of settings":      {line: "rg x open", env: map[string]string{"XDG_CONFIG_HOME": "/x"}},
	"patterns match hidden files":     {line: "ls *.go", env: map[string]string{"GLOBIGNORE": "x"}},
	"options of bash":                 {line: "ls *.go", env: map[string]string{"BASHOPTS": "dotglob"}},
	"a function of the environment":   {line: "ls", env: map[string]string{"BASH_FUNC_ls%%": "() { id; }"}},
}

// TestTheSurroundingsOfALineMatter: the same line is allowed before the change, and not after it.
func TestTheSurroundingsOfALineMatter(t *testing.T) {
	t.Parallel()
	for name, s := range surroundings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newTree(t)
			if err := os.MkdirAll(filepath.Join(w.Root, "deep/er"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := w.bash(s.line); err != nil {
				t.Fatalf("before the change: %v", err)
			}
			for path, text := range s.files {
				w.place(t, filepath.Join(w.Root, path), text)
			}
			w.Machine = withVariables{Machine: w.Machine, variables: s.env}
			if w.bash(s.line) == nil {
				t.Errorf("%q is allowed", s.line)
			}
		})
	}
}

// TestRgIsAllowedBesideUsualSettings: most users have settings of git and an ignore list.
func TestRgIsAllowedBesideUsualSettings(t *testing.T) {
	t.Parallel()
	w := newTree(t)
	w.place(t, filepath.Join(w.Root, "../home/.gitconfig"), "[user]\nname=a\n")
	w.place(t, filepath.Join(w.Root, "../home/.config/git/ignore"), "*.swp\n")
	if err := w.bash("rg x open"); err != nil {
		t.Error(err)
	}
}

// place writes a file, or a link if the text begins with ->.
func (w Workspace) place(t *testing.T, path, text string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if len(text) > 2 && text[:2] == "->" && err == nil {
		err = os.Symlink(text[2:], path)
	} else if err == nil {
		err = os.WriteFile(path, []byte(text), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// withVariables is a machine with more variables in its environment.
type withVariables struct {
	Machine
	variables map[string]string
}

func (m withVariables) Env(name string) string {
	if value := m.variables[name]; value != "" {
		return value
	}
	return m.Machine.Env(name)
}
