package reading

import (
	"os"
	"path/filepath"
	"testing"
)

// surrounding is a change of the workspace or of the environment, together with a line. The line is allowed
// before the change, and refused after it.
type surrounding struct {
	line  string
	files texts
	env   map[string]string
}

// texts contains the text of each file by its path. For a link, the text is -> and the link's target.
type texts map[string]string

// with returns a surrounding that adds files.
func with(line string, files texts) surrounding { return surrounding{line: line, files: files} }

// surroundings contains the changes, by a description of each change.
var surroundings = map[string]surrounding{
	"the shell reads a link -":        with("cat < -", texts{"-": "->../outside/plain.txt"}),
	"a program reads a link -":        with("rev -", texts{"-": "->../outside/plain.txt"}),
	"grep follows a link to a file":   with("grep -r x open", texts{"open/l": "->../../outside/plain.txt"}),
	"grep follows a link to a device": with("grep -r x open", texts{"open/l": "->/proc/self/environ"}),
	"grep reads large patterns":       with("grep -f list a.go", texts{"list": "x\n(a{1,255}){1,255}\n"}),
	"diff follows a link to a folder": with("diff -r open open", texts{"open/l": "->../sub"}),
	"diff follows a link to a file":   with("diff -r open open", texts{"open/l": "->../../outside/plain.txt"}),
	"diff reads a hidden file":        with("diff -r open open", texts{"open/.x": "x"}),
	"diff reads a file without -r":    with("diff b.txt open", texts{"open/x.pem": "x"}),
	"diff excludes a pattern":         with("diff -r -x '[a]' open open", texts{"open/[a]": "->../../outside/plain.txt"}),
	"diff follows a link that has the excluded name of the other file": with("diff -x b.txt b.txt open",
		texts{"open/b.txt": "->../../outside/plain.txt"}),
	"diff opens a pipe that has the excluded name": with("diff --exclude=b.txt open b.txt",
		texts{"open/b.txt": "->../pipe"}),
	"grep excludes a pattern": with("grep -r x --exclude-dir='[x]' open",
		texts{"open/[x]/k.pem": "x"}),
	"git reads a stash elsewhere": with("git stash list", texts{".git/logs/refs/stash": "->../../../b.txt"}),
	"git opens a branch elsewhere": with("git branch -a",
		texts{".git/refs/heads/x": "->../../../../outside/plain.txt"}),
	"git opens a log in a folder":   with("git log", texts{".git/logs/refs/heads/a/b": "->../../../../../b.txt"}),
	"git opens an object elsewhere": with("git log", texts{".git/objects/01/23": "->../../../../outside/plain.txt"}),
	"git opens a pack elsewhere":    with("git log", texts{".git/objects/pack/a.idx": "->../../../b.txt"}),
	"git reads any file as a ref":   with("git rev-parse X", texts{".git/X": "->../b.txt"}),
	"git tells what it rebases": with("git branch",
		texts{".git/rebase-merge/head-name": "->../../../outside/plain.txt"}),
	"git tells where it began":       with("git branch", texts{".git/BISECT_START": "->../../outside/plain.txt"}),
	"git reads another work tree":    with("git branch", texts{".git/worktrees/x/HEAD": "->../../../b.txt"}),
	"git has refs in another folder": with("git branch", texts{".git/worktrees/x/commondir": "/elsewhere\n"}),
	"git reads an address elsewhere": with("git branch -vv", texts{".git/remotes/o": "->../../b.txt"}),
	"git reads submodules elsewhere": with("git log --stat", texts{".gitmodules": "->../outside/plain.txt"}),
	"git shows a replaced file":      with("git show HEAD:a.go", texts{".git/refs/replace/0123": "4567\n"}),
	"git shows a packed replacement": with("git show HEAD:a.go", texts{".git/packed-refs": "4567 refs/replace/0123\n"}),
	"a hook leads elsewhere":         with("git log", texts{".git/hooks/x": "->../../../outside/plain.txt"}),
	"a hook leads to a folder":       with("git log", texts{".git/hooks/x": "->../../open"}),
	"git takes the repository above": with("cd deep && git log",
		texts{"deep/.git/objects/pack/x": "", "deep/.git/refs/heads/x": "", "deep/.git/objects/info/x": ""}),
	"a repository without a work tree": with("cd deep && git log",
		texts{"deep/HEAD": "", "deep/objects/x": "", "deep/refs/x": ""}),
	"a repository in other letters": with("cd deep && git log", texts{"deep/.GIT/config": "[core]\npager=id\n"}),
	"git refuses a wrong HEAD":      with("git log", texts{".git/HEAD": "refs/heads/main\n"}),
	"a HEAD leads out of refs":      with("git log", texts{".git/HEAD": "ref: ../x\n"}),
	"refs are a file": with("cd deep && git log",
		texts{"deep/.git/objects/pack/x": "", "deep/.git/refs": "", "deep/.git/HEAD": "ref: refs/heads/x\n"}),
	"git diff takes a link": with("git diff --stat nowhere1 nowhere2",
		texts{"nowhere1": "->none", "nowhere2": "->none"}),
	"git diff goes through a link": with("git diff --stat to/../a to/../b", texts{"to": "->../outside"}),
	"git changes a shared index":   with("git ls-files", texts{".git/sharedindex.0123": "x"}),
	"git reads attributes elsewhere": with("git blame sub/c.go",
		texts{"sub/.gitattributes": "->../../outside/plain.txt"}),
	"git reads attributes for a diff": with("git log -p -- sub/c.go",
		texts{"sub/.gitattributes": "->../../outside/plain.txt"}),
	"git reads names elsewhere":       with("git log", texts{".mailmap": "->../outside/plain.txt"}),
	"git ignores revisions of a file": with("git blame a.go", texts{".git/config": "[blame]\nignoreRevsFile=/x\n"}),
	"git filters the blamed file":     with("git blame a.go", texts{".git/config": "[filter \"x\"]\nclean=id\n"}),
	"git converts the blamed file":    with("git blame a.go", texts{".git/config": "[diff \"x\"]\ntextconv=id\n"}),
	"git takes names from a file":     with("git shortlog -sn HEAD", texts{".git/config": "[mailmap]\nfile=/x\n"}),
	"git fetches a missing object": with("git cat-file -p HEAD:a.go",
		texts{".git/config": "[remote \"o\"]\nurl=x\npromisor=true\n"}),
	"git has a partial clone":          with("git blame a.go", texts{".git/config": "[extensions]\npartialClone=o\n"}),
	"git reads objects elsewhere":      with("git cat-file -p HEAD:a.go", texts{".git/objects/info/alternates": "/x\n"}),
	"git asks a monitor":               with("git ls-files *.go", texts{".git/config": "[core]\nfsmonitor=id\n"}),
	"git has a pager for one command":  with("git blame a.go", texts{".git/config": "[pager]\nblame=id\n"}),
	"git reads more settings":          with("git stash list", texts{".git/config": "[include]\npath=/x\n"}),
	"git sorts branches by signatures": with("git branch -a", texts{".git/config": "[branch]\nsort=-signature\n"}),
	"git sorts tags by signatures":     with("git tag -l 'v*'", texts{".git/config": "[tag]\nsort=signature:key\n"}),
	"an address has a password": with("git remote -v",
		texts{".git/config": "[remote \"o\"]\nurl=https://a:b@x/y\n"}),
	"an address has a token": with("git remote -v",
		texts{".git/config": "[remote \"o\"]\nurl = https://abc@x/y\n"}),
	"an address has a question": with("git remote -v",
		texts{".git/config": "[remote \"o\"]\nurl = https://x/y?token=a\n"}),
	"an address is replaced": with("git remote -v",
		texts{"../home/.gitconfig": "[url \"https://a:b@x/\"]\ninsteadOf=https://x/\n"}),
	"a list between root and path":  with("rg x deep/er", texts{"deep/er/f": "", "deep/.ignore": "!.env\n"}),
	"a list with braces":            with("rg x open", texts{"open/.ignore": "!{.env,x/b}\n"}),
	"a list with brackets":          with("rg x open", texts{"open/.ignore": "!?[x/b]\n"}),
	"a list that is a link":         with("rg x open", texts{"open/.ignore": "->../../outside/plain.txt"}),
	"a list of an inner repository": with("rg x open", texts{"open/.git/info/exclude": "!.env\n"}),
	"an inner repository elsewhere": with("rg x open", texts{"open/.git": "gitdir: /elsewhere\n"}),
	"a type with a hidden file":     with("rg -t ruby x open", texts{"open/.irbrc": "x"}),
	"a setting names a list":        with("rg x open", texts{"../home/.gitconfig": "[core]\nexcludesFile=x\n"}),
	"the user's list takes back":    with("rg x open", texts{"../home/.config/git/ignore": "!.env\n"}),
	"another folder of settings":    {line: "rg x open", env: map[string]string{"XDG_CONFIG_HOME": "/x"}},
	"patterns match hidden files":   {line: "ls *.go", env: map[string]string{"GLOBIGNORE": "x"}},
	"options of bash":               {line: "ls *.go", env: map[string]string{"BASHOPTS": "dotglob"}},
	"a function of the environment": {line: "ls", env: map[string]string{"BASH_FUNC_ls%%": "() { id; }"}},
}

// TestTheSurroundingsOfALineMatter judges each line before and after its change. The line must be allowed
// before, and refused after.
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

// TestRgIsAllowedBesideUsualSettings sets up the git settings and the ignore list that most users have. rg must
// still be allowed.
func TestRgIsAllowedBesideUsualSettings(t *testing.T) {
	t.Parallel()
	w := newTree(t)
	w.place(t, filepath.Join(w.Root, "../home/.gitconfig"), "[user]\nname=a\n")
	w.place(t, filepath.Join(w.Root, "../home/.config/git/ignore"), "*.swp\n")
	if err := w.bash("rg x open"); err != nil {
		t.Error(err)
	}
}

// TestUsualRepositoriesAreRead sets up a clone that shares its objects, a hook that is a file of the project,
// and a second work tree. Git commands that read must be allowed in all of them.
func TestUsualRepositoriesAreRead(t *testing.T) {
	t.Parallel()
	w := newTree(t)
	w.place(t, filepath.Join(w.Root, ".git/hooks/pre-commit"), "->../../b.txt")
	w.place(t, filepath.Join(w.Root, ".git/worktrees/x/commondir"), "../..\n")
	w.place(t, filepath.Join(w.Root, ".git/objects/01/23"), "x")
	object := filepath.Join(w.Root, ".git/objects/01/23")
	if err := os.Link(object, filepath.Join(w.Root, "../outside/object")); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"git log", "git branch", "git show HEAD:a.go"} {
		if err := w.bash(line); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// TestAnAddressWithoutAPasswordIsListed: the name before the @ of an address for ssh is not secret, so such an
// address may be listed.
func TestAnAddressWithoutAPasswordIsListed(t *testing.T) {
	t.Parallel()
	w := newTree(t)
	w.place(t, filepath.Join(w.Root, ".git/config"), "[remote \"o\"]\nurl = ssh://git@x/y\npushurl = git@x:y\n"+
		"[remote \"p\"]\nurl = https://x/y\n")
	if err := w.bash("git remote -v"); err != nil {
		t.Error(err)
	}
}

// place writes a file. If the text begins with ->, it makes a symbolic link to the path after the arrow.
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

// withVariables is a machine with additional environment variables.
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
