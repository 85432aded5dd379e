package wholefile

import (
	"os"
	"path/filepath"
	"testing"
)

func TestAFileIsReplacedOrLeftAsItWas(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path := filepath.Join(folder, "file")
	for _, content := range []string{"first", "second, which is longer", ""} {
		if err := Replace(path, []byte(content), OwnerOnly); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != content {
			t.Errorf("the file holds %q, %v, want %q", got, err, content)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != OwnerOnly {
		t.Errorf("the file has the mode %v, %v", info.Mode(), err)
	}
	if err := os.Mkdir(filepath.Join(folder, "taken"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Replace(filepath.Join(folder, "taken"), []byte("x"), OwnerOnly); err == nil {
		t.Error("a folder was replaced")
	}
	if err := Replace(filepath.Join(folder, "nowhere", "file"), []byte("x"), OwnerOnly); err == nil {
		t.Error("a file was written to a folder that is not there")
	}
	left, err := os.ReadDir(folder)
	if err != nil || len(left) != 2 {
		t.Errorf("the folder holds %v, %v, want the file and the folder", left, err)
	}
}
