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
	files map[string]string // content by path; for a link, -> and its target
	env   map[string]string
}

// surroundings contains the changes, by a description of each change.
var surroundings = map[string]surrounding{
	"the shell reads a link -":        {line: "cat < -", files: map[string]string{"-": "->../outside/plain.txt"}},
	"a program reads a link -":        {line: "rev -", files: map[string]string{"-": "->../outside/plain.txt"}},
	"grep follows a link to a file":   {line: "grep -r x open", files: map[string]string{"open/l": "->../../outside/plain.txt"}},
	"grep follows a link to a device": {line: "grep -r x open", files: map[string]string{"open/l": "->/proc/self/environ"}},
	"grep reads large patterns":       {line: "grep -f list a.go", files: map[string]string{"list": "x\n(a{1,255}){1,255}\n"}},
	"diff follows a link to a folder": {line: "diff -r open open", files: map[string]string{"open/l": "->../sub"}},
	"diff follows a link to a file":   {line: "diff -r open open", files: map[string]string{"open/l": "->../../outside/plain.txt"}},
	"diff reads a hidden file":        {line: "diff -r open open", files: map[string]string{"open/.x": "x"}},
	"diff reads a file without -r":    {line: "diff b.txt open", files: map[string]string{"open/x.pem": "x"}},
	"diff excludes a pattern":         {line: "diff -r -x '[a]' open open", files: map[string]string{"open/[a]": "->../../outside/plain.txt"}},
	"git reads a stash elsewhere":     {line: "git stash list", files: map[string]string{".git/logs/refs/stash": "->../../../b.txt"}},
	"git opens a branch elsewhere":    {line: "git branch -a", files: map[string]string{".git/refs/heads/x": "->../../../../outside/plain.txt"}},
	"git opens a log in a folder":     {line: "git log", files: map[string]string{".git/logs/refs/heads/a/b": "->../../../../../b.txt"}},
	"git opens an object elsewhere":   {line: "git log", files: map[string]string{".git/objects/01/23": "->../../../../outside/plain.txt"}},
	"git opens a pack elsewhere":      {line: "git log", files: map[string]string{".git/objects/pack/a.idx": "->../../../b.txt"}},
	"git reads any file as a ref":     {line: "git rev-parse X", files: map[string]string{".git/X": "->../b.txt"}},
	"git tells what it rebases":       {line: "git branch", files: map[string]string{".git/rebase-merge/head-name": "->../../../outside/plain.txt"}},
	"git tells where it began":        {line: "git branch", files: map[string]string{".git/BISECT_START": "->../../outside/plain.txt"}},
	"git reads another work tree":     {line: "git branch", files: map[string]string{".git/worktrees/x/HEAD": "->../../../b.txt"}},
	"git has refs in another folder":  {line: "git branch", files: map[string]string{".git/worktrees/x/commondir": "/elsewhere\n"}},
	"git reads an address elsewhere":  {line: "git branch -vv", files: map[string]string{".git/remotes/o": "->../../b.txt"}},
	"git reads submodules elsewhere":  {line: "git log --stat", files: map[string]string{".gitmodules": "->../outside/plain.txt"}},
	"git shows a replaced file":       {line: "git show HEAD:a.go", files: map[string]string{".git/refs/replace/0123": "4567\n"}},
	"git shows a packed replacement":  {line: "git show HEAD:a.go", files: map[string]string{".git/packed-refs": "4567 refs/replace/0123\n"}},
	"a hook leads elsewhere":          {line: "git log", files: map[string]string{".git/hooks/x": "->../../../outside/plain.txt"}},
	"a hook leads to a folder":        {line: "git log", files: map[string]string{".git/hooks/x": "->../../open"}},
	"git takes the repository above": {line: "cd deep && git log", files: map[string]string{"deep/.git/objects/pack/x": "", "deep/.git/refs/heads/x": "",
		"deep/.git/objects/info/x": ""}},
	"a repository without a work tree": {line: "cd deep && git log", files: map[string]string{"deep/HEAD": "", "deep/objects/x": "", "deep/refs/x": ""}},
	"a repository in other letters":    {line: "cd deep && git log", files: map[string]string{"deep/.GIT/config": "[core]\npager=id\n"}},
	"git refuses a wrong HEAD":         {line: "git log", files: map[string]string{".git/HEAD": "refs/heads/main\n"}},
	"a HEAD leads out of refs":         {line: "git log", files: map[string]string{".git/HEAD": "ref: ../x\n"}},
	"refs are a file":                  {line: "cd deep && git log", files: map[string]string{"deep/.git/objects/pack/x": "", "deep/.git/refs": "", "deep/.git/HEAD": "ref: refs/heads/x\n"}},
	"git diff takes a link":            {line: "git diff --stat nowhere1 nowhere2", files: map[string]string{"nowhere1": "->none", "nowhere2": "->none"}},
	"git diff goes through a link":     {line: "git diff --stat to/../a to/../b", files: map[string]string{"to": "->../outside"}},
	"git changes a shared index":       {line: "git ls-files", files: map[string]string{".git/sharedindex.0123": "x"}},
	"git reads attributes elsewhere":   {line: "git blame sub/c.go", files: map[string]string{"sub/.gitattributes": "->../../outside/plain.txt"}},
	"git reads attributes for a diff":  {line: "git log -p -- sub/c.go", files: map[string]string{"sub/.gitattributes": "->../../outside/plain.txt"}},
	"git reads names elsewhere":        {line: "git log", files: map[string]string{".mailmap": "->../outside/plain.txt"}},
	"git ignores revisions of a file":  {line: "git blame a.go", files: map[string]string{".git/config": "[blame]\nignoreRevsFile=/x\n"}},
	"git filters the blamed file":      {line: "git blame a.go", files: map[string]string{".git/config": "[filter \"x\"]\nclean=id\n"}},
	"git converts the blamed file":     {line: "git blame a.go", files: map[string]string{".git/config": "[diff \"x\"]\ntextconv=id\n"}},
	"git takes names from a file":      {line: "git shortlog -sn HEAD", files: map[string]string{".git/config": "[mailmap]\nfile=/x\n"}},
	"git fetches a missing object":     {line: "git cat-file -p HEAD:a.go", files: map[string]string{".git/config": "[remote \"o\"]\nurl=x\npromisor=true\n"}},
	"git has a partial clone":          {line: "git blame a.go", files: map[string]string{".git/config": "[extensions]\npartialClone=o\n"}},
	"git reads objects elsewhere":      {line: "git cat-file -p HEAD:a.go", files: map[string]string{".git/objects/info/alternates": "/x\n"}},
	"git asks a monitor":               {line: "git ls-files *.go", files: map[string]string{".git/config": "[core]\nfsmonitor=id\n"}},
	"git has a pager for one command":  {line: "git blame a.go", files: map[string]string{".git/config": "[pager]\nblame=id\n"}},
	"git reads more settings":          {line: "git stash list", files: map[string]string{".git/config": "[include]\npath=/x\n"}},
	"git sorts branches by signatures": {line: "git branch -a", files: map[string]string{".git/config": "[branch]\nsort=-signature\n"}},
	"git sorts tags by signatures":     {line: "git tag -l 'v*'", files: map[string]string{".git/config": "[tag]\nsort=signature:key\n"}},
	"an address has a password":        {line: "git remote -v", files: map[string]string{".git/config": "[remote \"o\"]\nurl=https://a:b@x/y\n"}},
	"an address has a token":           {line: "git remote -v", files: map[string]string{".git/config": "[remote \"o\"]\nurl = https://abc@x/y\n"}},
	"an address has a question":        {line: "git remote -v", files: map[string]string{".git/config": "[remote \"o\"]\nurl = https://x/y?token=a\n"}},
	"an address is replaced":           {line: "git remote -v", files: map[string]string{"../home/.gitconfig": "[url \"https://a:b@x/\"]\ninsteadOf=https://x/\n"}},
	"a list between root and path":     {line: "rg x deep/er", files: map[string]string{"deep/er/f": "", "deep/.ignore": "!.env\n"}},
	"a list with braces":               {line: "rg x open", files: map[string]string{"open/.ignore": "!{.env,x/b}\n"}},
	"a list with brackets":             {line: "rg x open", files: map[string]string{"open/.ignore": "!?[x/b]\n"}},
	"a list that is a link":            {line: "rg x open", files: map[string]string{"open/.ignore": "->../../outside/plain.txt"}},
	"a list of an inner repository":    {line: "rg x open", files: map[string]string{"open/.git/info/exclude": "!.env\n"}},
	"an inner repository elsewhere":    {line: "rg x open", files: map[string]string{"open/.git": "gitdir: /elsewhere\n"}},
	"a type with a hidden file":        {line: "rg -t ruby x open", files: map[string]string{"open/.irbrc": "x"}},
	"a setting names a list":           {line: "rg x open", files: map[string]string{"../home/.gitconfig": "[core]\nexcludesFile=x\n"}},
	"the user's list takes back":       {line: "rg x open", files: map[string]string{"../home/.config/git/ignore": "!.env\n"}},
	"another folder of settings":       {line: "rg x open", env: map[string]string{"XDG_CONFIG_HOME": "/x"}},
	"patterns match hidden files":      {line: "ls *.go", env: map[string]string{"GLOBIGNORE": "x"}},
	"options of bash":                  {line: "ls *.go", env: map[string]string{"BASHOPTS": "dotglob"}},
	"a function of the environment":    {line: "ls", env: map[string]string{"BASH_FUNC_ls%%": "() { id; }"}},
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
	if err := os.Link(filepath.Join(w.Root, ".git/objects/01/23"), filepath.Join(w.Root, "../outside/object")); err != nil {
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
