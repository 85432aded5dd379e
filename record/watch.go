package record

//platform:linux The agent CLI's own record = is followed by inotify
//platform:macos The agent CLI's own record = is followed by kqueue

import (
	"path/filepath"
	"slices"
	"sync"

	"github.com/fsnotify/fsnotify"
)

// Watcher wakes followers when files in their folders change. A process uses one
// Watcher for all followers, because the kernel limits the number of watchers for each
// user.
type Watcher struct {
	mu      sync.Mutex
	kernel  *fsnotify.Watcher             // nil until the first folder is watched
	folders map[string]map[*Follower]bool // followers to wake for each folder
}

// NewWatcher returns a Watcher that watches no folder yet. It uses no kernel resources
// before the first folder.
func NewWatcher() *Watcher { return &Watcher{folders: map[string]map[*Follower]bool{}} }

// started starts the kernel's watcher if it does not run yet. It returns false if the
// system provides no watcher. Without a watcher, followers look at their records only
// when Wake is called.
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
			w.wakeAll() // events were lost, so any file can have changed
		}
	}
}

// wake wakes each follower whose record may have changed because the file at path has changed.
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

// watch replaces the folders of f. The Watcher wakes f if something changes in these
// folders. If folders is empty, the Watcher forgets f. If no follower is left, watch
// closes the kernel's watcher.
func (w *Watcher) watch(f *Follower, folders []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(folders) > 0 && !w.started() {
		return
	}
	for _, folder := range folders {
		if w.folders[folder] == nil {
			if w.kernel.Add(folder) != nil {
				continue // the folder was deleted, or the system reports no changes in it
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
