package files

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"coleo.dev"
	"coleo.dev/policy"
)

const allowsMake = "preset = \"read\"\n[[rule]]\ncommand = \"make *\"\ndecision = \"allow\"\n"

// place contains the rules of a host, a user and a project.
type place struct {
	t       *testing.T
	dir     string
	project string
	Paths
}

func newPlace(t *testing.T) place {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := place{t: t, dir: dir, project: filepath.Join(dir, "project"), Paths: Paths{Host: filepath.Join(dir, "host.toml"),
		User: filepath.Join(dir, "user.toml"), TrustFile: filepath.Join(dir, "trust.json")}}
	for _, folder := range []string{".git", ".coleo", "inner/deep"} {
		p.check(os.MkdirAll(filepath.Join(p.project, folder), 0o700))
	}
	return p
}

func (p place) check(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p place) write(path, text string) {
	p.t.Helper()
	p.check(os.WriteFile(path, []byte(text), 0o600))
}

func (p place) scopes(workdir string) []policy.Scope {
	p.t.Helper()
	list, err := p.Scopes(workdir, policy.PresetRead)
	p.check(err)
	return list
}

func TestRulesComeFromTheHostTheUserAndTheProject(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	if got := p.scopes(p.project); len(got) != 2 || got[0].Preset != "" || got[1].Preset != policy.PresetRead {
		t.Errorf("without files: %+v", got)
	}
	p.write(p.Host, "[[rule]]\ncategory = \"network\"\ndecision = \"deny\"\n")
	p.write(p.User, "[[rule]]\ncommand = \"ls *\"\ndecision = \"allow\"\n")
	p.write(filepath.Join(p.project, ProjectFile), allowsMake)
	got := p.scopes(filepath.Join(p.project, "inner/deep"))
	if len(got) != 3 {
		t.Fatalf("%d scopes, want 3: %+v", len(got), got)
	}
	for i, name := range []string{"host", "user", "project"} {
		if got[i].Name != name || len(got[i].Rules) != 1 {
			t.Errorf("scope %d is %+v, want that of the %s with one rule", i, got[i], name)
		}
	}
	if !got[2].Untrusted {
		t.Error("the project is trusted from the beginning")
	}
}

// The user keeps the file of rules on a disk that is not mounted, and a link leads to it. Its rules could deny, so
// the file must not count as a file without rules.
func TestALinkToNothingIsNotAMissingFile(t *testing.T) {
	t.Parallel()
	for _, path := range []func(place) string{
		func(p place) string { return p.Host },
		func(p place) string { return p.User },
		func(p place) string { return filepath.Join(p.project, ProjectFile) },
	} {
		p := newPlace(t)
		link := path(p)
		p.check(os.Symlink(filepath.Join(p.dir, "not-mounted", "policy.toml"), link))
		if list, err := p.Scopes(p.project, ""); coleo.ErrorCode(err) != coleo.EInvalid {
			t.Errorf("with a dangling link at %s, the rules are %+v, %v", link, list, err)
		}
	}
}

func TestAFileThatCannotBeUsedIsAnError(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(place){
		"an unknown key":      func(p place) { p.write(p.User, "untrusted = false\n") },
		"an unknown decision": func(p place) { p.write(p.User, "[[rule]]\ntool = \"x\"\ndecision = \"yes\"\n") },
		"a file of others":    func(p place) { p.write(p.Host, ""); p.check(os.Chmod(p.Host, 0o666)) },
		"a folder as rules":   func(p place) { p.check(os.Mkdir(filepath.Join(p.project, ProjectFile), 0o700)) },
		"too many rules": func(p place) {
			p.write(filepath.Join(p.project, ProjectFile),
				strings.Repeat("#\n", MaxSize))
		},
		"a wrong list of trust":   func(p place) { p.write(p.TrustFile, "[]") },
		"a wrong project's rules": func(p place) { p.write(filepath.Join(p.project, ProjectFile), "preset = 1\n") },
	} {
		p := newPlace(t)
		spoil(p)
		if list, err := p.Scopes(p.project, ""); err == nil {
			t.Errorf("%s: %+v, want an error", name, list)
		}
	}
}

func TestATrustedProjectIsTrustedUntilItChanges(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	if _, err := p.Project(p.project); coleo.ErrorCode(err) != coleo.ENotFound {
		t.Errorf("a project without rules: %v", err)
	}
	file := filepath.Join(p.project, ProjectFile)
	p.write(file, allowsMake)
	seen, err := p.Project(p.project)
	p.check(err)
	if seen.Trusted || seen.Changed || seen.Content != allowsMake || seen.Path != file {
		t.Errorf("before it is trusted: %+v", seen)
	}
	p.write(file, allowsMake+"# changed\n")
	if err := p.Trust(seen); coleo.ErrorCode(err) != coleo.EStale {
		t.Errorf("a file that changed after it was shown: %v", err)
	}
	p.write(file, allowsMake)
	p.check(p.Trust(seen))
	if got := p.scopes(p.project); got[2].Untrusted {
		t.Error("it is not trusted")
	}
	if info, err := os.Stat(p.TrustFile); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the list of trust: %v, %v", info, err)
	}
	p.write(file, allowsMake+"# changed\n")
	if got := p.scopes(p.project); !got[2].Untrusted {
		t.Error("a changed file is trusted")
	}
	if now, err := p.Project(p.project); err != nil || now.Trusted || !now.Changed {
		t.Errorf("a changed file is %+v, %v", now, err)
	}
	p.write(file, allowsMake)
	if _, err := p.Distrust(p.project); err != nil || !p.scopes(p.project)[2].Untrusted {
		t.Errorf("it is trusted after the trust was ended: %v", err)
	}
	if _, err := p.Distrust(p.project); coleo.ErrorCode(err) != coleo.ENotFound {
		t.Errorf("the end of a trust that is not there: %v", err)
	}
}

// A project's rules are also found if the folder's path contains a symbolic link to the project.
func TestAProjectIsFoundThroughALink(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write(filepath.Join(p.project, ProjectFile), allowsMake)
	link := filepath.Join(p.dir, "link")
	p.check(os.Symlink(filepath.Join(p.project, "inner"), link))
	if got := p.scopes(link); len(got) != 3 {
		t.Errorf("%d scopes by a link, want 3", len(got))
	}
}

// Two commands can change the list of trusted files at the same moment. If a change were lost, rules would still allow
// although the user has ended the trust in them.
func TestTwoChangesOfTheTrustBothCount(t *testing.T) {
	t.Parallel()
	list := List(filepath.Join(t.TempDir(), "trust.json"))
	const projects = 20
	of := func(n int) string { return fmt.Sprintf("/project%d/.coleo/policy.toml", n) }
	for n := range projects / 2 {
		if err := list.Set(of(n), "hash"); err != nil {
			t.Fatal(err)
		}
	}
	var running sync.WaitGroup
	for n := range projects {
		running.Go(func() {
			err := error(nil)
			if n < projects/2 {
				err = list.Forget(of(n))
			} else {
				err = list.Set(of(n), "hash")
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	running.Wait()
	for n := range projects {
		if hash, err := list.Hash(of(n)); err != nil || (hash != "") != (n >= projects/2) {
			t.Errorf("project %d has the trusted hash %q, %v", n, hash, err)
		}
	}
}
