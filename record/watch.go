package record

//platform:linux The agent CLI's own record = is followed by inotify
//platform:macos The agent CLI's own record = is followed by kqueue

import (
	"path/filepath"
	"slices"
	"sync"

	"github.com/fsnotify/fsnotify"
)

// Watcher wakes followers when a file in a folder has changed. The kernel limits the
// number of watchers of a user. So a process uses a single Watcher for all followers.
type Watcher struct {
	mu      sync.Mutex
	kernel  *fsnotify.Watcher             // nil until the first folder is watched
	folders map[string]map[*Follower]bool // the followers to wake, for each folder
}

// NewWatcher returns a Watcher without folders. It uses no resources of the kernel
// until the first folder is watched.
func NewWatcher() *Watcher { return &Watcher{folders: map[string]map[*Follower]bool{}} }

// started starts the kernel's watcher if it is not yet running. It returns false if the
// system provides no watcher. Then followers look at their records only when Wake is
// called.
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
			w.wakeAll() // events were lost, so any file may have changed
		}
	}
}

// wake wakes each follower whose record may have changed when the file at path changed.
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

// watch sets the folders of f. When something changes in these folders, and only then,
// the Watcher wakes f. If folders is empty, f leaves the Watcher. When the last
// follower leaves, watch closes the kernel's watcher.
func (w *Watcher) watch(f *Follower, folders []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(folders) > 0 && !w.started() {
		return
	}
	for _, folder := range folders {
		if w.folders[folder] == nil {
			if w.kernel.Add(folder) != nil {
				continue // the folder was deleted, or the system reports no changes of it
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
