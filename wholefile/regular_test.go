package wholefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestOnlyARegularFileIsOpened(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, link, pipe := filepath.Join(dir, "file"), filepath.Join(dir, "link"), filepath.Join(dir, "pipe")
	if err := errors.Join(os.WriteFile(file, []byte("x"), 0o600), os.Symlink(file, link),
		syscall.Mkfifo(pipe, 0o600)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]error{
		file: nil, link: nil, pipe: ErrNotRegular, dir: ErrNotRegular, os.DevNull: ErrNotRegular,
		filepath.Join(dir, "missing"): fs.ErrNotExist,
	} {
		f, err := OpenRegular(path)
		if !errors.Is(err, want) || (f != nil) != (want == nil) {
			t.Errorf("%s: %v, want %v", path, err, want)
		}
		if f != nil {
			f.Close()
		}
	}
}
