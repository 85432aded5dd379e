package diffs

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"coleo.dev"
	"coleo.dev/changes/folder"
	"coleo.dev/filewatch"
)

//platform:linux Following the changes of an arm = by inotify, for the folders that git does not ignore
//platform:macos Following the changes of an arm = is refused, because kqueue would open every file

const (
	// mostFolders is the largest number of watched folders of one arm. The kernel needs about 1 kB
	// for each.
	mostFolders = 100_000
	// mostFresh is the largest number of new folders that are checked one by one. If there are
	// more, all folders are listed again.
	mostFresh = 200
	// limitFile contains the largest number of folders that the kernel watches for one user.
	limitFile = "/proc/sys/fs/inotify/max_user_watches"
	// A host agent watches at most 1/limitShare of the folders that the kernel allows, because
	// other programs of the user need watches too.
	limitShare = 2
	// usualLimit is the kernel's usual limit, for the case that limitFile cannot be read.
	usualLimit = 8_192
)

// watchedInGit lists the folders inside a git folder that Coleo watches. They contain the index,
// HEAD, the history of HEAD, and the list of ignored files.
var watchedInGit = []string{".", "logs", "info"}

// tree watches the folders of one repository, so that a diff is read only after a change.
type tree struct {
	root, gitDir string
	listener     *filewatch.Listener
	pollers      int         // Diffs.mu guards it
	ending       *time.Timer // closes the tree when it fires; guarded by Diffs.mu

	adding sync.Mutex // held while folders are added

	mu      sync.Mutex
	number  int             // the number of reported changes
	changed chan struct{}   // closed at the next change
	told    bool            // changed is closed
	fresh   map[string]bool // new paths that could be folders
	relist  bool            // true if all folders must be listed again
	last    map[string]lastRead
}

func newTree(w *filewatch.Watcher, root, gitDir string) *tree {
	t := &tree{root: root, gitDir: gitDir, changed: make(chan struct{}), fresh: map[string]bool{}, relist: true,
		last: map[string]lastRead{}}
	t.listener = w.Listen(t.noteChange)
	return t
}

// noteChange records a change. It ignores most changes in the git folder, because they do not
// change a diff.
func (t *tree) noteChange(c filewatch.Change) {
	name := filepath.Base(c.Path)
	inGit := below(t.gitDir, c.Path)
	if inGit && name != "index" && name != "HEAD" && name != "exclude" {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if (c.Made || c.Gone) && !inGit {
		t.fresh[c.Path] = true
	}
	if c.Lost || name == ".gitignore" || inGit && name == "exclude" || len(t.fresh) > mostFresh {
		t.relist = true
		clear(t.fresh)
	}
	t.number++
	if !t.told {
		t.told = true
		close(t.changed)
	}
}

// below is like Below, for paths without symbolic links.
func below(dir, path string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }

// changeCount returns the number of changes so far, and a channel that is closed at the next one.
func (t *tree) changeCount() (number int, changed <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.told {
		t.told, t.changed = false, make(chan struct{})
	}
	return t.number, t.changed
}

// catchUp begins to watch new folders; the first call begins with all folders. It watches at most
// maxFolders folders.
func (t *tree) catchUp(ctx context.Context, f *folder.Folder, maxFolders int) error {
	t.adding.Lock()
	defer t.adding.Unlock()
	t.mu.Lock()
	relist, fresh := t.relist, t.fresh
	t.relist, t.fresh = false, map[string]bool{}
	t.mu.Unlock()
	err := t.watch(ctx, f, relist, fresh, maxFolders)
	if err != nil {
		t.mu.Lock()
		t.relist = true
		t.mu.Unlock()
	}
	return err
}

func (t *tree) watch(ctx context.Context, f *folder.Folder, relist bool, fresh map[string]bool, most int) error {
	var dirs []string
	for path := range fresh {
		if info, err := os.Lstat(path); err == nil && info.IsDir() {
			dirs = append(dirs, path)
		}
	}
	t.leaveMoved(fresh)
	if relist {
		dirs = nil
	} else if len(dirs) == 0 {
		return nil
	}
	list, err := f.Folders(ctx, dirs, most)
	if err != nil {
		return tooMany(err, most)
	}
	if relist {
		for _, dir := range watchedInGit {
			// An error does not matter, because git creates some of these folders only later.
			_ = t.listener.Add(filepath.Join(t.gitDir, dir))
		}
		t.leaveOthers(list)
	}
	if watched := t.listener.Folders(); len(watched)+len(list) > most {
		known := map[string]bool{}
		for _, dir := range watched {
			known[dir] = true
		}
		list = slices.DeleteFunc(list, func(dir string) bool { return known[dir] })
		if len(watched)+len(list) > most+len(watchedInGit) {
			return tooMany(coleo.Errorf(coleo.EUnsupported, "%s has more than %d folders", t.root, most), most)
		}
	}
	for _, dir := range list {
		if err := t.listener.Add(dir); errors.Is(err, filewatch.ErrFull) {
			return tooMany(coleo.Errorf(coleo.EUnsupported, "the kernel watches no more folders than now"), most)
		} // ignore any other error, because it means that the folder is gone again
	}
	return nil
}

// leaveMoved stops watching the folders below a path that was deleted or renamed. Otherwise the
// kernel would report their changes under the old path.
func (t *tree) leaveMoved(fresh map[string]bool) {
	gone := map[string]bool{}
	for path := range fresh {
		gone[path] = true
	}
	if len(gone) == 0 {
		return
	}
	for _, dir := range t.listener.Folders() {
		for at := dir; len(at) > len(t.root); at = filepath.Dir(at) {
			if gone[at] {
				t.listener.Remove(dir)
				break
			}
		}
	}
}

// leaveOthers stops watching all folders that are not in the list, except the git folders.
func (t *tree) leaveOthers(list []string) {
	wanted := map[string]bool{}
	for _, dir := range list {
		wanted[dir] = true
	}
	for _, dir := range t.listener.Folders() {
		if !wanted[dir] && !below(t.gitDir, dir) {
			t.listener.Remove(dir)
		}
	}
}

func tooMany(err error, most int) error {
	if coleo.ErrorCode(err) != coleo.EUnsupported {
		return err
	}
	return coleo.Errorf(coleo.EUnsupported, "the changes of the arm cannot be followed, because %w; at most %d are "+
		"watched, which is half of fs.inotify.max_user_watches or less: raise that number with sysctl, or ask for the diff "+
		"without following it", err, most)
}

// watchRoom returns how many folders the given tree may watch, beside the folders of all other
// trees.
func (d *Diffs) watchRoom(except *tree) int {
	limit := usualLimit
	if data, err := os.ReadFile(limitFile); err == nil {
		if n, err := strconv.Atoi(strings.TrimSpace(string(data))); err == nil {
			limit = n
		}
	}
	if d.MostFolders > 0 {
		limit = d.MostFolders * limitShare
	}
	room := limit / limitShare
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, t := range d.trees {
		if t != except {
			room -= len(t.listener.Folders())
		}
	}
	return min(max(room, 0), mostFolders)
}

// canFollow returns EUnsupported if this system cannot watch the folders of an arm.
func canFollow() error {
	if runtime.GOOS == "linux" {
		return nil
	}
	return coleo.Errorf(coleo.EUnsupported, "the changes of an arm can be followed on Linux only, because %s would have "+
		"to open every file: ask for the diff without following it", runtime.GOOS)
}
