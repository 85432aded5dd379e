package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"coleo.dev"
)

// write makes a file, or a symbolic link if text begins with "-> ".
func write(t *testing.T, path, text string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if target, ok := strings.CutPrefix(text, "-> "); ok && err == nil {
		err = os.Symlink(target, path)
	} else if err == nil {
		err = os.WriteFile(path, []byte(text), 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestAProgramIsShownWithItsOwnFilesAlone(t *testing.T) {
	t.Parallel()
	list := []struct {
		name, program string
		files         map[string]string
		want          []string // the expected places below HOME; for a link, with its target
	}{
		{"a file of its own", ".local/bin/tool",
			map[string]string{".local/bin/tool": "-> ../share/tool/1.0", ".local/share/tool/1.0": "\x7fELF",
				".local/share/keys/k": ""},
			[]string{".local/bin/tool -> ../share/tool/1.0", ".local/share/tool/1.0"}},
		{"a package of npm, interpreted by a program of a version manager", ".nvm/current/bin/tool",
			map[string]string{".nvm/current": "-> v22", ".nvm/v22/bin/tool": "-> ../lib/node_modules/tool/cli.js",
				".nvm/v22/lib/node_modules/tool/cli.js": "#!/usr/bin/env node\n", ".nvm/v22/bin/node": "\x7fELF",
				".nvm/secret": ""},
			[]string{".nvm/current -> v22", ".nvm/v22/bin/node", ".nvm/v22/bin/tool -> ../lib/node_modules/tool/cli.js",
				".nvm/v22/lib", ".nvm/v22/lib/node_modules"}},
		{"a whole environment of Python, with the Python below it", "venv/bin/tool",
			map[string]string{"venv/bin/tool": "#!HOME/venv/bin/python\n", "venv/bin/python": "-> HOME/py/bin/python3",
				"venv/pyvenv.cfg": "home = HOME/py/bin\n", "py/bin/python3": "\x7fELF", "py/lib/python3.12/os.py": ""},
			[]string{"py/bin/python3", "py/lib", "venv", "venv/bin/python -> HOME/py/bin/python3", "venv/bin/tool"}},
		{"a program of the system", "/bin/sh", nil, nil},
	}
	for _, c := range list {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			for path, text := range c.files {
				write(t, filepath.Join(home, path), strings.ReplaceAll(text, "HOME", home))
			}
			program := c.program
			if !filepath.IsAbs(program) {
				program = filepath.Join(home, program)
			}
			found, err := ProgramFiles(program, []string{filepath.Join(home, ".nvm/current/bin"), "/usr/bin"}, nil)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, p := range found {
				line := strings.TrimPrefix(p.Path, home+"/")
				if p.Link != "" {
					line += " -> " + strings.ReplaceAll(p.Link, home, "HOME")
				}
				got = append(got, line)
			}
			if slices.Sort(got); !slices.Equal(got, c.want) {
				t.Errorf("%q\nwant %q", got, c.want)
			}
		})
	}
}

// A sandboxed program can change its work folder. Nothing that it changes there may make the next sandbox show
// another file of the user.
func TestAProgramInAWritableFolderLeadsToNoOtherFile(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files map[string]string
		want  string // the end of the path to which the way must not lead; "" if nothing is refused
	}{
		"a link":                  {map[string]string{"work/tool": "-> HOME/.ssh/key"}, ".ssh/key"},
		"a link to a folder":      {map[string]string{"work/tool": "-> bin/key", "work/bin": "-> HOME/.ssh"}, ".ssh/key"},
		"a script":                {map[string]string{"work/tool": "#!HOME/.ssh/key\n"}, ".ssh/key"},
		"a script for env":        {map[string]string{"work/tool": "#!/usr/bin/env -S/bin/sh HOME/.ssh/key\n"}, ".ssh/key"},
		"a name that leaves PATH": {map[string]string{"work/tool": "#!/usr/bin/env ../.ssh/key\n"}, ""},
		"a Python environment": {map[string]string{"work/tool": "-> v/bin/tool", "work/v/bin/tool": "\x7fELF",
			"work/v/pyvenv.cfg": "home = HOME/work/v\n", "work/v/python3": "-> HOME/.ssh/key"}, ".ssh/key"},
		"a script whose interpreter is in PATH": {map[string]string{"work/tool": "#!/usr/bin/env node\n"}, ""},
		"a link within the folder":              {map[string]string{"work/tool": "-> a/b", "work/a/b": "\x7fELF"}, ""},
		"a link to the system":                  {map[string]string{"work/tool": "-> /bin/sh"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			write(t, filepath.Join(home, ".ssh/key"), "secret")
			write(t, filepath.Join(home, "bin/node"), "\x7fELF")
			for path, text := range c.files {
				write(t, filepath.Join(home, path), strings.ReplaceAll(text, "HOME", home))
			}
			work := filepath.Join(home, "work")
			found, err := ProgramFiles(filepath.Join(work, "tool"), []string{filepath.Join(home, "bin")},
				[]Place{{Path: "/elsewhere", Source: work}})
			for _, p := range found {
				if strings.HasSuffix(p.Path, ".ssh/key") {
					t.Errorf("the sandbox shows %s", p.Path)
				}
			}
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (coleo.ErrorCode(err) != coleo.EUnsupported || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%v, %v; want a refusal that names %s", found, err, c.want)
			}
		})
	}
}

// A script whose interpreter is not installed shows only itself.
func TestAMissingInterpreterShowsNothing(t *testing.T) {
	t.Parallel()
	tool := filepath.Join(t.TempDir(), "tool")
	write(t, tool, "#!/usr/bin/env no-such-program\n")
	found, err := ProgramFiles(tool, []string{"/usr/bin"}, nil)
	if err != nil || !slices.Equal(found, []Place{{Path: tool}}) {
		t.Errorf("%v, %v", found, err)
	}
}

// A program in a sandbox can replace the files of a work folder by pipes. The next start must not wait for a writer.
func TestAStartWaitsAtNoPipe(t *testing.T) {
	t.Parallel()
	for name, pipe := range map[string]string{"the settings of an environment": "pyvenv.cfg", "the program": "bin/tool"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			work := t.TempDir()
			program := filepath.Join(work, "bin/tool")
			write(t, program, "\x7fELF")
			_ = os.Remove(filepath.Join(work, pipe))
			if err := syscall.Mkfifo(filepath.Join(work, pipe), 0o700); err != nil {
				t.Fatal(err)
			}
			done := make(chan error, 1)
			go func() {
				_, err := ProgramFiles(program, nil, []Place{{Path: work}})
				done <- err
			}()
			select {
			case err := <-done:
				if isProgram := pipe != "bin/tool"; isProgram != (err == nil) {
					t.Errorf("the error is %v", err)
				}
			case <-time.After(time.Minute):
				t.Fatal("it waits at the pipe")
			}
		})
	}
}

func TestAProgramThatIsNotThereIsRefused(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	write(t, filepath.Join(home, "a"), "-> b")
	write(t, filepath.Join(home, "b"), "-> a")
	for _, path := range []string{filepath.Join(home, "missing"), filepath.Join(home, "a"), "no-such-program"} {
		if found, err := ProgramFiles(path, []string{"/usr/bin"}, nil); coleo.ErrorCode(err) != coleo.ENotInstalled {
			t.Errorf("%s: %v, %v", path, found, err)
		}
	}
}

func TestWhatOthersMayNotReadIsHidden(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	modes := map[string]os.FileMode{"open": 0o644, "shadow": 0o640, "keys/a": 0o644, "keys/b": 0o600}
	for name, mode := range modes {
		write(t, filepath.Join(dir, name), "x")
		if err := os.Chmod(filepath.Join(dir, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(dir, "keys"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "private"), 0o710); err != nil {
		t.Fatal(err)
	}
	want := []Hidden{{Path: filepath.Join(dir, "keys/b")}, {Path: filepath.Join(dir, "private"), Folder: true},
		{Path: filepath.Join(dir, "shadow")}}
	if got := secrets(dir); !slices.Equal(got, want) {
		t.Errorf("%v\nwant %v", got, want)
	}
}

func TestAMachineIsAskedForASandboxWithANetwork(t *testing.T) {
	t.Parallel()
	search := []string{filepath.Dir(needBwrap(t))}
	if err := ProbeNetwork(t.Context(), search, os.Args[0]); err != nil {
		t.Errorf("with a proxy: %v", err)
	}
	err := probe(t.Context(), search, os.Args[0], Box{Network: filepath.Join(t.TempDir(), "none")})
	if coleo.ErrorCode(err) != coleo.EUnsupported || !strings.Contains(err.Error(), "no way to its hosts") {
		t.Errorf("with a proxy that does not begin: %v", err)
	}
	err = ProbeNetwork(t.Context(), []string{t.TempDir()}, os.Args[0])
	if coleo.ErrorCode(err) != coleo.EUnsupported || !strings.Contains(err.Error(), "bwrap is missing") {
		t.Errorf("without bubblewrap: %v", err)
	}
}
