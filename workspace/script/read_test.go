package script_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/workspace/git"
	"coleo.dev/workspace/gittest"
	"coleo.dev/workspace/script"
)

// project is a test's git repository.
type project struct {
	*gittest.Stage
	opened *git.Repo
}

func newProject(t *testing.T) *project {
	t.Helper()
	p := &project{Stage: gittest.New(t)}
	program, err := git.Find(p.Environ, filepath.Join(p.Root, "tmp"))
	p.Check(err)
	p.opened, err = program.Open(t.Context(), p.Repo)
	p.Check(err)
	t.Cleanup(p.opened.Close)
	return p
}

func (p *project) git(args ...string) string {
	p.Helper()
	return p.Git(p.Repo, args...)
}

// write writes an executable file.
func (p *project) write(path, text string) {
	p.Helper()
	path = filepath.Join(p.Repo, path)
	p.Check(os.MkdirAll(filepath.Dir(path), 0o700))
	p.Check(os.WriteFile(path, []byte(text), 0o700))
}

// commit commits everything and returns the commit.
func (p *project) commit() string {
	p.Helper()
	p.git("add", "-A", "-f", ".")
	p.git("commit", "-q", "--allow-empty", "-m", "more")
	return p.Rev(p.Repo, "HEAD")
}

func (p *project) read() (script.Script, bool, error) {
	p.Helper()
	return script.Read(p.Context(), p.opened, p.commit(), script.Setup)
}

func TestM28AScriptThatCannotRunIsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		make  func(p *project)
		want  string // text that the error must contain
		found bool
	}{
		{"none", func(*project) {}, "", false},
		{"a name in upper case", func(p *project) { p.write(".coleo/SETUP", "#!/bin/sh\n") }, "", false},
		{"a file in its place above", func(p *project) { p.write(".coleo", "#!/bin/sh\n") }, "", false},
		{"a folder in its place", func(p *project) { p.write(".coleo/setup/x", "#!/bin/sh\n") }, "", false},
		{"a linked folder", func(p *project) {
			p.write("other/setup", "#!/bin/sh\n")
			p.Check(os.Symlink("other", filepath.Join(p.Repo, ".coleo")))
		}, "", false},
		{"a symbolic link", func(p *project) {
			p.write("other", "#!/bin/sh\n")
			p.Check(os.Mkdir(filepath.Join(p.Repo, ".coleo"), 0o700))
			p.Check(os.Symlink("../other", filepath.Join(p.Repo, script.Setup)))
		}, "not a regular file", true},
		{"a submodule in its place", func(p *project) {
			p.write("file", "x")
			p.git("update-index", "--add", "--cacheinfo", "160000,"+p.commit()+",.coleo/setup")
			p.git("commit", "-qm", "submodule")
			p.Check(os.MkdirAll(filepath.Join(p.Repo, script.Setup), 0o700))
		}, "", false},
		{"no permission to run", func(p *project) {
			p.write(script.Setup, "#!/bin/sh\n")
			p.Check(os.Chmod(filepath.Join(p.Repo, script.Setup), 0o600))
		}, "no permission to run", true},
		{"10 MB", func(p *project) { p.write(script.Setup, "#!/bin/sh\n"+strings.Repeat("# x\n", 10<<18)) },
			"make it smaller", true},
		{"line ends of Windows", func(p *project) { p.write(script.Setup, "#!/bin/sh\r\ntrue\r\n") }, "line ends of Windows",
			true},
		{"no interpreter", func(p *project) { p.write(script.Setup, "true\n") }, "must begin with a line", true},
		{"an interpreter of the repository", func(p *project) { p.write(script.Setup, "#!tools/sh\n") },
			"absolute path", true},
		{"bytes of a program", func(p *project) { p.write(script.Setup, "#!/bin/sh\n\x00") }, "no", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t)
			c.make(p)
			commit := ""
			if c.name == "a submodule in its place" {
				commit = p.git("rev-parse", "HEAD")
			} else {
				commit = p.commit()
			}
			_, found, err := script.Read(t.Context(), p.opened, commit, script.Setup)
			if c.name == "a submodule in its place" {
				if coleo.ErrorCode(err) != coleo.EInvalid {
					t.Errorf("found %v, %v", found, err)
				}
				return
			}
			if found != c.found || (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) ||
				coleo.ErrorCode(err) != coleo.EInvalid) {
				t.Errorf("found %v, %v; want %v with %q", found, err, c.found, c.want)
			}
		})
	}
}

// TestM28AHashCoversWhatAScriptNames changes a file that a script names, and one that it does
// not name.
func TestM28AHashCoversWhatAScriptNames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		named      string // files that Files must contain besides the script
		whole      bool   // the hash must cover all files
	}{
		{"nothing", "mkdir -p build; echo done", "", false},
		{"a file that is copied", "cp -n env.example .env", "env.example", false},
		{"a file of a redirection", "cat < env.example > .env", "env.example", false},
		{"a file in a test", "[ -f .env ] || cp env.example .env", "env.example", false},
		{"a folder", "cp -r lib /tmp/x", "lib/a.sh lib/b.sh", false},
		{"a script", "./lib/a.sh", "lib/a.sh lib/b.sh", false},
		{"a script that a shell runs", "sh lib/b.sh 'x y'", "lib/b.sh", false},
		{"a script that is sourced", ". lib/b.sh", "lib/b.sh", false},
		{"a function", "f() { ./lib/b.sh; }\nif true; then f \"$1\"; fi", "lib/b.sh", false},
		{"a substitution", "echo \"$(cat env.example)\"", "env.example", false},
		{"quotes", `c''at "env.example"`, "env.example", false},
		{"another program", "npm ci", "", true},
		{"make", "make deps", "", true},
		{"a program by a variable", "x=./lib/b.sh; $x", "", true},
		{"a file by a variable", "cat $1", "", true},
		{"a pattern", "cat *.example", "", true},
		{"eval", "eval './lib/b.sh'", "", true},
		{"sh -c", "sh -c ./lib/b.sh", "", true},
		{"commands from a pipe", "cat env.example | sh", "", true},
		{"another folder", "cd lib; ./b.sh", "", true},
		{"PATH", "PATH=lib; cat env.example", "", true},
		{"PATH in a loop", "for PATH in lib; do cat x; done", "", true},
		{"LD_PRELOAD before a command", "LD_PRELOAD=x cat env.example", "", true},
		{"an export", "export PATH=lib", "", true},
		{"arithmetic", "echo $((x[$(./lib/b.sh)]))", "", true},
		{"an expansion", "echo ${x:-$(./lib/b.sh)}", "", true},
		{"a script that is not there", "./nothing", "", true},
		{"a script in upper case", "./LIB/b.sh", "", true},
		{"a program of another language", "./tool.py", "", true},
		{"a link", "sh link", "", true},
		{"a script that is read first", "cat lib/b.sh; ./lib/b.sh", "", true},
		{"an alias", "alias cat=./lib/b.sh; cat x", "", true},
		{"a trap", "trap ./lib/b.sh EXIT", "", true},
		{"syntax that nobody knows", "if (", "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t)
			for path, text := range map[string]string{script.Setup: "#!/bin/bash\n" + c.text + "\n", "env.example": "A=1\n",
				"lib/a.sh": "#!/bin/sh\nsh lib/b.sh\n", "lib/b.sh": "#!/usr/bin/env bash\ntrue\n", "other": "x\n",
				"tool.py": "#!/usr/bin/python3\n"} {
				p.write(path, text)
			}
			p.Check(os.Symlink("lib/b.sh", filepath.Join(p.Repo, "link")))
			s, found, err := p.read()
			if err != nil || !found || (s.Why != "") != c.whole {
				t.Fatalf("%v %v, why %q", found, err, s.Why)
			}
			if !c.whole {
				var names []string
				for _, f := range s.Files {
					names = append(names, f.Path)
				}
				want := strings.TrimSpace(script.Setup + " " + c.named)
				if got := strings.Join(names, " "); got != want {
					t.Errorf("the files are %s, want %s", got, want)
				}
			}
			for _, path := range strings.Fields(c.named) {
				p.write(path, "#!/bin/sh\nfalse\n")
				if now, _, err := p.read(); err != nil || now.Hash == s.Hash || now.NamedHash == s.NamedHash {
					t.Errorf("the hash does not cover %s: %v", path, err)
				}
				p.git("reset", "-q", "--hard", s.Commit)
			}
			p.write("other", "changed\n")
			now, _, err := p.read()
			if err != nil || now.NamedHash != s.NamedHash || (now.Hash != s.Hash) != c.whole {
				t.Errorf("another file has changed: %v, %+v and %+v", err, s, now)
			}
		})
	}
}

func TestM28TheDifferenceToWhatWasTrustedIsShown(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.write(script.Setup, "#!/bin/sh\ncat one\n")
	p.write("one", "1\n")
	was, _, err := p.read()
	p.Check(err)
	trusts := script.Trusts{File: filepath.Join(p.Repo, "../trust.json")}
	if err := trusts.Trust(was, "other"); coleo.ErrorCode(err) != coleo.EStale {
		t.Errorf("another hash is trusted: %v", err)
	}
	p.Check(trusts.Trust(was, was.Hash))
	p.Check(trusts.Require(was))
	p.write(script.Setup, "#!/bin/sh\ncat one two\n")
	p.write("two", "2\n")
	now, _, err := p.read()
	p.Check(err)
	if err := trusts.Require(now); coleo.ErrorCode(err) != coleo.EForbidden || !strings.Contains(err.Error(),
		"has changed since") {
		t.Errorf("a changed script: %v", err)
	}
	earlier, trusted, err := trusts.Of(now)
	if err != nil || trusted || earlier == nil {
		t.Fatalf("%+v %v %v", earlier, trusted, err)
	}
	diff, err := now.Diff(t.Context(), p.opened, *earlier)
	p.Check(err)
	for _, want := range []string{"-cat one\n", "+cat one two\n", "New: two"} {
		if !strings.Contains(diff, want) {
			t.Errorf("the difference lacks %q:\n%s", want, diff)
		}
	}
	p.Check(trusts.Distrust(now.Repository, script.Setup))
	if err := trusts.Require(was); coleo.ErrorCode(err) != coleo.EForbidden {
		t.Errorf("after the end of the trust: %v", err)
	}
}
