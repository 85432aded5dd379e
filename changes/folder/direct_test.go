package folder_test

import (
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"syscall"
	"testing"

	"coleo.dev/changes"
	"coleo.dev/workspace/gittest"
)

// TestBothWaysOfADiffAgree: a diff must be the same whether git reads the files in the folder or
// their stored versions.
func TestBothWaysOfADiffAgree(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.everything()
	for _, w := range []changes.DiffRequest{{}, {Binary: true}, {Stat: true}, {Paths: []string{"folder", "moved-away"}}} {
		direct := s.diff(w)
		f := s.open()
		f.StoreFirst()
		stored, err := f.Diff(t.Context(), s.base, w, now)
		s.Check(err)
		if len(direct.Files) == 0 || !reflect.DeepEqual(direct, stored) {
			t.Errorf("%+v: git reads the folder:\n%+v\n%s\ngit reads stored files:\n%+v\n%s", w, direct.Files, direct.Patch,
				stored.Files, stored.Patch)
		}
	}
}

// TestWhatGitStoresNowhereIsADeletedFile replaces files by things that git cannot store, such as a
// pipe and a repository. The diff must show the files as deleted.
func TestWhatGitStoresNowhereIsADeletedFile(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for _, name := range []string{"pipe", "repository", "folder", "loop"} {
		s.Write(name, "1\n")
	}
	s.base = s.commit("base")
	for _, name := range []string{"pipe", "repository", "folder"} {
		s.remove(name)
	}
	s.Check(syscall.Mkfifo(filepath.Join(s.Repo, "pipe"), 0o600))
	s.Check(os.Mkdir(filepath.Join(s.Repo, "folder"), 0o700))
	s.git("init", "-q", "repository")
	s.Git(filepath.Join(s.Repo, "repository"), "commit", "-q", "--allow-empty", "-m", "1")
	s.link("loop", "loop")
	d := s.diff(changes.DiffRequest{})
	got := map[string]changes.Kind{}
	for _, f := range d.Files {
		got[f.Path] = f.Kind
	}
	want := map[string]changes.Kind{"pipe": changes.Deleted, "repository": changes.Deleted, "folder": changes.Deleted,
		"loop": changes.Retyped}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the files are %v, want %v", got, want)
	}
}

// TestFilesThatVanishMeanwhileAreNoError makes and deletes files during the diffs. No diff may fail
// or show a file as deleted that the base does not contain.
func TestFilesThatVanishMeanwhileAreNoError(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.Write("file", "1\n")
	s.base = s.commit("base")
	s.Write("file", "2\n")
	stop := make(chan struct{})
	var busy sync.WaitGroup
	defer busy.Wait()
	defer close(stop)
	busy.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			default:
			}
			path := filepath.Join(s.Repo, "temporary"+string(rune('a'+n%26)))
			if _, err := os.Lstat(path); err == nil {
				_ = os.Remove(path)
			} else {
				_ = os.WriteFile(path, []byte("x\n"), 0o600)
			}
		}
	})
	f := s.open()
	for range gittest.Repeats(15) { // with -short, there are fewer diffs
		d, err := f.Diff(t.Context(), s.base, changes.DiffRequest{}, now)
		s.Check(err)
		for _, file := range d.Files {
			if file.Path == "file" != (file.Kind == changes.Modified) || file.Kind == changes.Deleted {
				t.Fatalf("%s is told as %s", file.Path, file.Kind)
			}
		}
	}
}
