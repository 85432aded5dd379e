package judge

import (
	"os"
	"path/filepath"
	"testing"

	"coleo.dev"
	"coleo.dev/policy/commandline"
)

func armWith(environ ...string) Arm {
	return Arm{Environ: func() ([]string, error) { return environ, nil }}
}

func TestTheShellIsKnownOnlyFromTheAgentCLIsEnvironment(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"bash", "zsh", "fish", "sh"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	rule := coleo.ShellRule{Env: []string{"OWN", "SHELL"}, Names: []string{"bash", "zsh"}, Unless: []string{"PREFIX"}}
	for name, c := range map[string]struct {
		environ []string
		want    commandline.Shell
	}{
		"bash":                         {[]string{"SHELL=" + at("bash")}, commandline.Bash},
		"zsh":                          {[]string{"SHELL=" + at("zsh")}, commandline.Zsh},
		"the first variable counts":    {[]string{"SHELL=" + at("bash"), "OWN=" + at("zsh")}, commandline.Zsh},
		"also if it is not known":      {[]string{"SHELL=" + at("bash"), "OWN=" + at("fish")}, ""},
		"also if it is empty":          {[]string{"SHELL=" + at("bash"), "OWN="}, ""},
		"an unknown shell":             {[]string{"SHELL=" + at("fish")}, ""},
		"one that the harness has not": {[]string{"SHELL=" + at("sh")}, ""},
		"a name without a path":        {[]string{"SHELL=bash"}, ""},
		"a program that is not there":  {[]string{"SHELL=" + at("no/bash")}, ""},
		"nothing":                      {nil, ""},
		"a prefix":                     {[]string{"SHELL=" + at("bash"), "PREFIX=x"}, ""},
	} {
		m, err := machineOf(armWith(c.environ...))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := m.shell(rule); got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s: %q, %v; want %q", name, got, err, c.want)
		}
	}
}

func TestAnEnvironmentThatChangesCommandsIsRefused(t *testing.T) {
	t.Parallel()
	for _, environ := range [][]string{{"BASH_ENV=x"}, {"LD_PRELOAD=x"}, {"BASH_FUNC_cat%%=() { x; }"}, {"CDPATH=/"},
		{"PATH=/bin", "PATH=/tmp"}, {"POSIXLY_CORRECT="}, {"ZDOTDIR=/tmp"}} {
		if _, err := machineOf(armWith(environ...)); err == nil {
			t.Errorf("%q is accepted", environ)
		}
	}
	wrapped := armWith("SHELL=/bin/bash")
	wrapped.Config.Wrap = []string{"box"}
	if _, err := machineOf(wrapped); err == nil {
		t.Error("a wrapper is accepted")
	}
	if _, err := machineOf(armWith("PATH=/bin", "HOME=/x", "LANG=C")); err != nil {
		t.Error(err)
	}
}

func TestProgramsAreThoseOfTheAgentCLIsPath(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "cat")
	if err := os.WriteFile(path, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	for environ, want := range map[string]string{"PATH=" + dir + ":/bin": path, "PATH=.:" + dir: "", "PATH=": "",
		"PATH=" + dir + "/no": ""} {
		m, err := machineOf(armWith(environ))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := m.Program("cat"); err == nil && filepath.Base(filepath.Dir(got)) != filepath.Base(dir) ||
			(err == nil) != (want != "") {
			t.Errorf("with %s, cat is %q, %v; want %q", environ, got, err, want)
		}
	}
}
