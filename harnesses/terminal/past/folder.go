package past

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/reading"
	"coleo.dev/holder/journal"
)

const (
	snapshotEnd = ".screen"
	unfinished  = ".new"
)

// Folder is the folder with the snapshots of a generation. It is a cache: at any time it
// may be lost or be of another version.
type Folder struct {
	dir   string
	nonce string // "" accepts any generation, for one that has ended
}

// FolderOf returns the folder of a handle's generation.
func FolderOf(h coleo.Handle) Folder {
	return Folder{dir: filepath.Join(h.Dir, "snapshots"), nonce: h.Nonce}
}

func (f Folder) path(offset int64) string {
	return filepath.Join(f.dir, fmt.Sprintf("%016x%s", offset, snapshotEnd))
}

// offsets returns the offsets of the screens on disk, ascending.
func (f Folder) offsets() []int64 {
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return nil // there are none
	}
	var out []int64
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), snapshotEnd)
		if offset, err := strconv.ParseInt(name, 16, 64); ok && err == nil {
			out = append(out, offset)
		}
	}
	slices.Sort(out)
	return out
}

// load reads one screen. A file that is torn, damaged, of another generation or of
// another version is an error.
func (f Folder) load(offset int64) (*reading.Snapshot, error) {
	raw, err := os.ReadFile(f.path(offset))
	if err != nil {
		return nil, fmt.Errorf("read a snapshot of the screen: %w", err)
	}
	out, err := reading.DecodeSnapshot(raw)
	if err != nil {
		return nil, fmt.Errorf("read snapshot %s: %w", f.path(offset), err)
	}
	if f.nonce != "" && out.Nonce != f.nonce || out.Offset != offset {
		return nil, fmt.Errorf("read snapshot %s: it belongs to another session", f.path(offset))
	}
	return out, nil
}

// Newest returns the newest usable screen between two offsets, both included, or nil when
// there is none.
func (f Folder) Newest(from, until int64) *reading.Snapshot {
	for _, offset := range slices.Backward(f.offsets()) {
		if offset < from || offset > until {
			continue
		}
		if out, err := f.load(offset); err == nil {
			return out
		}
	}
	return nil
}

// oldest returns the first usable screen from an offset on, or nil when there is none.
func (f Folder) oldest(from int64) *reading.Snapshot {
	for _, offset := range f.offsets() {
		if offset < from {
			continue
		}
		if out, err := f.load(offset); err == nil {
			return out
		}
	}
	return nil
}

// write writes a snapshot to the disk, whole or not at all, and returns once it would
// survive a loss of power. It makes the snapshots' folder but not its parent, so that an
// arm removed meanwhile stays removed.
func (f Folder) write(offset int64, data []byte) error {
	if err := os.Mkdir(f.dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make the folder for snapshots: %w", err)
	}
	path := f.path(offset)
	err := writeSynced(path+unfinished, data)
	if err == nil {
		err = os.Rename(path+unfinished, path)
	}
	if err != nil {
		_ = os.Remove(path + unfinished)
		return fmt.Errorf("write a snapshot of the screen: %w", err)
	}
	return nil
}

func writeSynced(path string, data []byte) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// prune deletes screens that are of no use because the journal now begins at start,
// after them. The newest of those screens stays, unless there is one at start itself.
func (f Folder) prune(start int64) {
	list := f.offsets()
	for i, offset := range list {
		if i+1 < len(list) && list[i+1] <= start {
			_ = os.Remove(f.path(offset))
		}
	}
}

// thin deletes the screens before an offset that were taken inside a segment. Each end of
// a host agent makes one of those.
func (f Folder) thin(before int64) {
	for _, offset := range f.offsets() {
		if offset < before && offset%journal.SegmentSize != 0 {
			_ = os.Remove(f.path(offset))
		}
	}
}

// Tidy deletes files that an earlier host agent left unfinished, and screens after the
// journal's end, which do not belong to this journal.
func (f Folder) Tidy(end int64) {
	left, _ := filepath.Glob(filepath.Join(f.dir, "*"+unfinished))
	for _, path := range left {
		_ = os.Remove(path)
	}
	for _, offset := range f.offsets() {
		if offset > end {
			_ = os.Remove(f.path(offset))
		}
	}
}
