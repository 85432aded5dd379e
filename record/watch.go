package record

import (
	"path/filepath"
	"slices"
	"sync"

	"github.com/fsnotify/fsnotify"
)

// Watcher wakes followers when something has changed in a folder. The kernel bounds how
// many watchers a user may have, so a process needs only one Watcher for all followers.
type Watcher struct {
	mu      sync.Mutex
	kernel  *fsnotify.Watcher             // nil until the first folder is watched
	folders map[string]map[*Follower]bool // who wants to know of each folder
}

// NewWatcher returns a Watcher without folders. It takes nothing from the system before
// the first folder is watched.
func NewWatcher() *Watcher { return &Watcher{folders: map[string]map[*Follower]bool{}} }

// started makes sure that the kernel watches. It returns false if the system has no
// watcher to give. Then followers only look when they are woken.
func (w *Watcher) started() bool {
	if w.kernel == nil {
		kernel, err := fsnotify.NewWatcher()
		if err != nil {
			return false
		}
		w.kernel = kernel
		go w.run(kernel)
	}
	return true
}

// run wakes followers until the kernel's watcher is closed.
func (w *Watcher) run(kernel *fsnotify.Watcher) {
	for {
		select {
		case e, ok := <-kernel.Events:
			if !ok {
				return
			}
			w.wake(e.Name)
		case _, ok := <-kernel.Errors:
			if !ok {
				return
			}
			w.wakeAll() // events were lost
		}
	}
}

// wake wakes the followers whom a change of a file may concern.
func (w *Watcher) wake(path string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for f := range w.folders[filepath.Dir(path)] {
		if f.concerns(path) {
			f.Wake()
		}
	}
}

func (w *Watcher) wakeAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, all := range w.folders {
		for f := range all {
			f.Wake()
		}
	}
}

// watch wakes f from now on at changes in these folders, and in no others. The last
// follower to leave closes the kernel's watcher.
func (w *Watcher) watch(f *Follower, folders []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(folders) > 0 && !w.started() {
		return
	}
	for _, folder := range folders {
		if w.folders[folder] == nil {
			if w.kernel.Add(folder) != nil {
				continue // it has gone, or the system gives no events there
			}
			w.folders[folder] = map[*Follower]bool{}
		}
		w.folders[folder][f] = true
	}
	for folder, all := range w.folders {
		if !slices.Contains(folders, folder) {
			delete(all, f)
		}
		if len(all) == 0 {
			delete(w.folders, folder)
			_ = w.kernel.Remove(folder)
		}
	}
	if len(w.folders) == 0 && w.kernel != nil {
		_ = w.kernel.Close()
		w.kernel = nil
	}
}
