package template

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/policy/files"
	"coleo.dev/wire"
)

// place is a folder of the user's templates, and a project.
type place struct {
	t       *testing.T
	project string
	Store
}

func newPlace(t *testing.T) place {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	p := place{t: t, project: filepath.Join(dir, "project"), Store: Store{User: filepath.Join(dir, "templates"),
		TrustFile: files.List(filepath.Join(dir, "trust.json"))}}
	p.check(err)
	for _, folder := range []string{p.User, filepath.Join(p.project, ".git"), filepath.Join(p.project, ProjectFolder),
		filepath.Join(p.project, "inner", ProjectFolder)} {
		p.check(os.MkdirAll(folder, 0o700))
	}
	return p
}

func (p place) check(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p place) write(dir, name, text string) string {
	p.t.Helper()
	path := filepath.Join(dir, name)
	p.check(os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestTheUsersTemplateHidesTheProjects(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	root, inner := filepath.Join(p.project, ProjectFolder), filepath.Join(p.project, "inner", ProjectFolder)
	p.write(p.User, "one.toml", "harness = \"user\"\n")
	for _, name := range []string{"one.toml", "two.toml"} {
		p.write(root, name, "harness = \"root\"\n")
		p.write(inner, name, "harness = \"inner\"\n")
	}
	p.write(root, ".hidden.toml", "")
	p.write(root, "note.txt", "")
	all, err := p.List(filepath.Join(p.project, "inner"))
	p.check(err)
	var got []string
	for _, f := range all {
		word := f.Name + " " + f.Template.Harness
		if f.Hidden {
			word += " hidden"
		}
		got = append(got, word)
	}
	if want := "one user, one inner hidden, two inner, one root hidden, two root hidden"; strings.Join(got, ", ") != want {
		t.Errorf("the templates are %q, want %q", strings.Join(got, ", "), want)
	}
	if f, err := p.Use("one", p.project); err != nil || f.Template.Harness != "user" || !f.Trusted {
		t.Errorf("one is %+v, %v", f, err)
	}
	for _, name := range []string{"none", "../one", ""} {
		if _, err := p.Use(name, p.project); coleo.ErrorCode(err) != coleo.ENotFound {
			t.Errorf("%q: %v, want that it is not there", name, err)
		}
	}
	if _, err := p.List(filepath.Join(p.project, "gone")); coleo.ErrorCode(err) != coleo.EInvalid {
		t.Errorf("a folder that is not there: %v", err)
	}
}

func TestAProjectsTemplateIsUsedOnlyWhileItIsTrusted(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	root := filepath.Join(p.project, ProjectFolder)
	p.write(root, "a.toml", "permission_mode = \"ask\"\n")
	f, err := p.Find("a", p.project)
	p.check(err)
	refused := func(when, want string) {
		t.Helper()
		if _, err := p.Use("a", p.project); coleo.ErrorCode(err) != coleo.EForbidden || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want a refusal with %q", when, err, want)
		}
	}
	refused("at first", "you do not trust it")
	if _, err := p.Trust(f, strings.Repeat("0", 64)); coleo.ErrorCode(err) != coleo.EStale {
		t.Errorf("trust of another hash: %v", err)
	}
	refused("after trust of another hash", "you do not trust it")
	done, err := p.Trust(f, f.Hash)
	if p.check(err); !done.Trusted {
		t.Error("it is not trusted")
	}
	if used, err := p.Use("a", p.project); err != nil || used.Template.PermissionMode != coleo.PermissionAsk {
		t.Errorf("trusted: %+v, %v", used, err)
	}
	p.write(root, "a.toml", "permission_mode = \"all\"\n")
	refused("changed", "has changed since you trusted it")
	if _, err := p.Trust(f, f.Hash); coleo.ErrorCode(err) != coleo.EStale {
		t.Errorf("trust of the content that was there before: %v", err)
	}
	p.write(root, "a.toml", "permission_mode = \"ask\"\n")
	p.check(p.Distrust(f))
	refused("no longer trusted", "you do not trust it")
	if err := p.Distrust(f); coleo.ErrorCode(err) != coleo.ENotFound {
		t.Errorf("distrust twice: %v", err)
	}
	own := p.write(p.User, "b.toml", "")
	if _, err := p.Trust(Found{Name: "b", Path: own}, files.HashOf(nil)); coleo.ErrorCode(err) != coleo.EInvalid {
		t.Errorf("trust of the user's own: %v", err)
	}
}

func TestOnlyThePersonsOwnTemplateAgreesToModeAllWithoutASandbox(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	const text = "permission_mode = \"all\"\nyes_without_sandbox = true\n"
	p.write(filepath.Join(p.project, ProjectFolder), "theirs.toml", text)
	p.write(p.User, "mine.toml", text)
	theirs, err := p.Find("theirs", p.project)
	p.check(err)
	if _, err := p.Trust(theirs, theirs.Hash); coleo.ErrorCode(err) != coleo.EInvalid ||
		!strings.Contains(err.Error(), "theirs.toml:2: yes_without_sandbox works only in your own templates") {
		t.Errorf("trust of a project's template that agrees: %v", err)
	}
	mine, err := p.Use("mine", p.project)
	p.check(err)
	for name, c := range map[string]struct {
		asked wire.SpawnRequest
		want  bool
	}{
		"the template's own mode":  {wire.SpawnRequest{}, true},
		"a mode of the request":    {wire.SpawnRequest{PermissionMode: coleo.PermissionAll}, false},
		"a sandbox of the request": {wire.SpawnRequest{Sandbox: &coleo.Sandbox{Kind: coleo.SandboxNone}}, false},
	} {
		q := c.asked
		p.check(mine.Template.Fill(&q, nil))
		if q.YesWithoutSandbox != c.want {
			t.Errorf("%s: agreed is %v, want %v", name, q.YesWithoutSandbox, c.want)
		}
	}
}

func TestAWrongFileDoesNotHideTheOthers(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	root := filepath.Join(p.project, ProjectFolder)
	p.write(p.User, "good.toml", "")
	p.write(p.User, "wrong.toml", "x = 1\n")
	p.check(os.Chmod(p.write(p.User, "open.toml", ""), 0o666))
	p.check(os.Mkdir(filepath.Join(root, "folder.toml"), 0o700))
	p.write(root, "large.toml", strings.Repeat("#\n", maxSize))
	for name, want := range map[string]string{"wrong": "unknown key", "open": "others can write",
		"folder": "not a regular file", "large": "more than", "good": ""} {
		f, err := p.Find(name, p.project)
		if err != nil || !strings.Contains(f.Fault, want) || (want == "") != (f.Fault == "") {
			t.Errorf("%s: %+v, %v; want the fault %q", name, f, err, want)
		}
		if _, err := p.Use(name, p.project); (err == nil) != (want == "") {
			t.Errorf("%s is used: %v", name, err)
		}
	}
}
