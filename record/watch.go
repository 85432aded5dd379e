package record

//platform:linux The agent CLI's own record = is followed by inotify
//platform:macos The agent CLI's own record = is followed by kqueue

import (
	"slices"
	"sync"

	"coleo.dev/filewatch"
)

// Watcher wakes followers when files in their folders change. A process uses one Watcher for all
// followers.
type Watcher struct {
	files *filewatch.Watcher

	mu        sync.Mutex
	listeners map[*Follower]*filewatch.Listener
}

// NewWatcher returns a Watcher that watches no folder yet. It uses no kernel resources
// before the first folder.
func NewWatcher() *Watcher {
	return &Watcher{files: filewatch.New(), listeners: map[*Follower]*filewatch.Listener{}}
}

// Files returns the watcher of files that w uses, so that the process can watch other folders with
// it.
func (w *Watcher) Files() *filewatch.Watcher { return w.files }

// watch replaces the list of folders that w watches for f. The Watcher wakes f if a file changes in
// one of them. If the list is empty, the Watcher forgets f. watch skips a folder that is gone or
// that the system cannot watch. For such a folder, f looks at its record only after a call of Wake.
func (w *Watcher) watch(f *Follower, folders []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := w.listeners[f]
	if len(folders) == 0 {
		if l != nil {
			l.Close()
			delete(w.listeners, f)
		}
		return
	}
	if l == nil {
		l = w.files.Listen(func(c filewatch.Change) {
			if c.Lost || f.concerns(c.Path) {
				f.Wake()
			}
		})
		w.listeners[f] = l
	}
	for _, folder := range folders {
		_ = l.Add(folder)
	}
	for _, folder := range l.Folders() {
		if !slices.Contains(folders, folder) {
			l.Remove(folder)
		}
	}
}
