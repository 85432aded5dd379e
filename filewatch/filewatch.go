// Package filewatch reports changes in folders as soon as the kernel reports them.
//
// A process uses one Watcher for everything, because the kernel limits the number of watchers of
// each user. The Watcher watches exactly the given folders, without the folders below them.
package filewatch

//platform:linux Changes in folders = are reported by inotify
//platform:macos Changes in folders = are reported by kqueue

import (
	"errors"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/fsnotify/fsnotify"
)

// ErrFull means that the kernel watches no further folders for this user.
var ErrFull = errors.New("the kernel watches no more folders for this user")

// Change is one change in a folder.
type Change struct {
	// Path is the file or the folder that changed. It is "" if Lost is true.
	Path string
	// Made means that the path is new. Gone means that the path was deleted or renamed. After a
	// watched folder is gone, the Watcher no longer watches it.
	Made, Gone bool
	// Lost means that the kernel has lost changes, so that anything can have changed.
	Lost bool
}

// Watcher watches folders for its listeners. Several goroutines can call its methods at the same
// time.
type Watcher struct {
	mu      sync.Mutex
	kernel  *fsnotify.Watcher             // nil while the Watcher watches no folder
	folders map[string]map[*Listener]bool // the listeners of each folder
}

// New returns a Watcher that watches no folder yet. It uses no kernel resources until the first
// folder is added.
func New() *Watcher { return &Watcher{folders: map[string]map[*Listener]bool{}} }

// Listener receives the changes in its folders. It must be closed after use.
type Listener struct {
	w    *Watcher
	told func(Change)
	mine map[string]bool // the listener's folders; protected by the Watcher's lock
}

// Listen returns a listener without folders. For each change, the Watcher calls `told`. This function must
// return at once, and must not call the Watcher or the listener.
func (w *Watcher) Listen(told func(Change)) *Listener {
	return &Listener{w: w, told: told, mine: map[string]bool{}}
}

// Add adds a folder to the watched folders. It returns ErrFull if the kernel watches no further
// folders. It also returns an error if the folder does not exist, or if the system has no watcher.
func (l *Listener) Add(folder string) error {
	w := l.w
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.start(); err != nil {
		return err
	}
	if w.folders[folder] == nil {
		if err := w.kernel.Add(folder); err != nil {
			w.stop()
			return asErrFull(err)
		}
		w.folders[folder] = map[*Listener]bool{}
	}
	w.folders[folder][l], l.mine[folder] = true, true
	return nil
}

// asErrFull returns an error that wraps ErrFull, if err means that the kernel refuses a further
// folder. It returns any other error unchanged.
func asErrFull(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
		return errors.Join(ErrFull, err)
	}
	return err
}

// Remove stops watching a folder for this listener.
func (l *Listener) Remove(folder string) {
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	l.w.remove(l, folder)
	l.w.stop()
}

// Folders returns the folders of this listener, unsorted.
func (l *Listener) Folders() []string {
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	list := make([]string, 0, len(l.mine))
	for folder := range l.mine {
		list = append(list, folder)
	}
	return list
}

// Close stops watching all folders of this listener. After Close, the Watcher no longer calls the
// listener's function.
func (l *Listener) Close() {
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	for folder := range l.mine {
		l.w.remove(l, folder)
	}
	l.w.stop()
}

func (w *Watcher) remove(l *Listener, folder string) {
	all := w.folders[folder]
	delete(all, l)
	delete(l.mine, folder)
	if all != nil && len(all) == 0 {
		delete(w.folders, folder)
		_ = w.kernel.Remove(folder)
	}
}

// start starts the kernel's watcher, unless it is running.
func (w *Watcher) start() error {
	if w.kernel != nil {
		return nil
	}
	kernel, err := fsnotify.NewWatcher()
	if err != nil {
		return asErrFull(err)
	}
	w.kernel = kernel
	go w.run(kernel)
	return nil
}

// stop ends the kernel's watcher if no folder is watched.
func (w *Watcher) stop() {
	if len(w.folders) == 0 && w.kernel != nil {
		_ = w.kernel.Close()
		w.kernel = nil
	}
}

// run reports changes until the kernel's watcher is closed.
func (w *Watcher) run(kernel *fsnotify.Watcher) {
	for {
		select {
		case e, ok := <-kernel.Events:
			if !ok {
				return
			}
			w.deliver(kernel, Change{Path: e.Name, Made: e.Has(fsnotify.Create), Gone: e.Has(fsnotify.Remove) ||
				e.Has(fsnotify.Rename)})
		case _, ok := <-kernel.Errors:
			if !ok {
				return
			}
			w.deliver(kernel, Change{Lost: true})
		}
	}
}

func (w *Watcher) deliver(kernel *fsnotify.Watcher, c Change) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.kernel != kernel {
		return // the change is old: since then, all folders were removed from the Watcher
	}
	if c.Lost {
		for _, l := range w.listeners() {
			l.told(c)
		}
		return
	}
	own := w.folders[c.Path]
	if c.Gone && own != nil {
		for l := range own {
			delete(l.mine, c.Path)
		}
		delete(w.folders, c.Path)
		_ = kernel.Remove(c.Path)
	}
	for l := range w.folders[filepath.Dir(c.Path)] {
		if !own[l] {
			l.told(c)
		}
	}
	for l := range own {
		l.told(c)
	}
}

func (w *Watcher) listeners() []*Listener {
	seen := map[*Listener]bool{}
	var list []*Listener
	for _, all := range w.folders {
		for l := range all {
			if !seen[l] {
				seen[l] = true
				list = append(list, l)
			}
		}
	}
	return list
}
