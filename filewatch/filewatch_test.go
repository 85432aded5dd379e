package filewatch

import (
	"os"
	"path/filepath"
	"testing"
)

// told returns a listener, and a channel that receives the listener's changes.
func told(w *Watcher) (*Listener, chan Change) {
	all := make(chan Change, 1000)
	return w.Listen(func(c Change) {
		select {
		case all <- c:
		default: // more changes than a test reads
		}
	}), all
}

// until reads changes until a change has the given path and the function `fits` returns true for the change.
func until(t *testing.T, all chan Change, path string, fits func(Change) bool) {
	t.Helper()
	for {
		select {
		case c := <-all:
			if c.Path == path && fits(c) {
				return
			}
		case <-t.Context().Done():
			t.Fatalf("nothing was told about %s", path)
		}
	}
}

func made(c Change) bool { return c.Made }

func gone(c Change) bool { return c.Gone }

func TestEachListenerIsToldAboutItsFolders(t *testing.T) {
	t.Parallel()
	w, dir := New(), t.TempDir()
	one, ofOne := told(w)
	two, ofTwo := told(w)
	defer one.Close()
	for _, l := range []*Listener{one, two} {
		if err := l.Add(dir); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "file")
	write(t, file)
	until(t, ofOne, file, made)
	until(t, ofTwo, file, made)
	two.Close()
	for len(ofTwo) > 0 {
		<-ofTwo
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	until(t, ofOne, file, gone)
	if len(ofTwo) > 0 || len(two.Folders()) > 0 || len(one.Folders()) != 1 {
		t.Errorf("a closed listener was told %v", <-ofTwo)
	}
}

// TestAFolderThatComesAgainCanBeWatchedAgain deletes a watched folder, which the kernel then no
// longer watches. The folder must be watchable again after it was created again.
func TestAFolderThatComesAgainCanBeWatchedAgain(t *testing.T) {
	t.Parallel()
	w, dir := New(), filepath.Join(t.TempDir(), "folder")
	l, all := told(w)
	defer l.Close()
	for range 3 {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := l.Add(dir); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, "file")
		write(t, file)
		until(t, all, file, made)
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		until(t, all, dir, gone)
		if left := l.Folders(); len(left) > 0 {
			t.Errorf("after the folder was deleted, these are watched: %v", left)
		}
	}
}

func TestTheKernelWatchesNothingWithoutFolders(t *testing.T) {
	t.Parallel()
	w := New()
	l, _ := told(w)
	if err := l.Add(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a folder that does not exist is watched")
	}
	if err := l.Add(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	l.Close()
	if w.kernel != nil {
		t.Error("the kernel's watcher is still there")
	}
}

func write(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
}
