package terminal_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"coleo.dev/harnesses/terminal"
)

// Outside of the sandbox, Coleo reads some files of the agent CLI. An agent CLI in a sandbox can put anything
// in the place of such a file, for example a pipe or a link. Coleo must not read what it finds there.
func TestWhatAnAgentCLIPutsInPlaceOfItsFilesIsNotRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret")
	folder := filepath.Join(dir, "work")
	check(t, os.WriteFile(secret, []byte("secret"), 0o600))
	for name, put := range map[string]func(path string) error{
		"a pipe":   func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"a folder": func(path string) error { return os.Mkdir(path, 0o700) },
		"a huge file without data": func(path string) error {
			check(t, os.WriteFile(path, nil, 0o600))
			return os.Truncate(path, 1<<42)
		},
		"a link out of the folder": func(path string) error { return os.Symlink(secret, path) },
	} {
		check(t, os.RemoveAll(folder))
		check(t, os.Mkdir(folder, 0o700))
		path := filepath.Join(folder, "file")
		check(t, put(path))
		if text, err := terminal.ReadWrittenIn(folder, "file", 100); err == nil {
			t.Errorf("%s: it reads %q", name, text)
		}
		if name == "a link out of the folder" {
			continue // this file may be a link, because a person can replace the folder of the conversations by a link
		}
		if err := terminal.EachEntry(path, func(any) {}); err == nil {
			t.Errorf("%s: there is no error", name)
		}
	}
}

func TestTheEndOfAFileIsRead(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	check(t, os.WriteFile(filepath.Join(folder, "file"), []byte("one two"), 0o600))
	for most, want := range map[int64]string{3: "two", 100: "one two"} {
		if got, err := terminal.ReadWrittenIn(folder, "file", most); err != nil || string(got) != want {
			t.Errorf("the last %d bytes are %q, %v", most, got, err)
		}
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
