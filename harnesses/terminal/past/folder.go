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
	"coleo.dev/paths"
)

const (
	snapshotEnd = ".screen"
	unfinished  = ".new"
)

// Folder is the folder with the snapshots of one generation, which is one start of an arm. The
// snapshots are only a cache, so a snapshot can be missing, or come from another version of Coleo.
type Folder struct {
	dir   string
	nonce string // the nonce of usable snapshots; "" accepts any generation
}

// FolderOf returns the folder of a handle's generation.
func FolderOf(h coleo.Handle) Folder {
	return Folder{dir: filepath.Join(h.Dir, "snapshots"), nonce: h.Nonce}
}

func (f Folder) path(offset int64) string {
	return filepath.Join(f.dir, fmt.Sprintf("%016x%s", offset, snapshotEnd))
}

// offsets returns the offsets of the snapshots on disk, in ascending order.
func (f Folder) offsets() []int64 {
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return nil // the folder does not exist
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

// load reads the snapshot at the given offset. It returns an error if the file is
// incomplete or damaged, or if it belongs to another generation or version.
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

// Newest returns the newest usable snapshot between two offsets, both inclusive, or nil if there is
// none.
func (f Folder) Newest(first, last int64) *reading.Snapshot {
	for _, offset := range slices.Backward(f.offsets()) {
		if offset < first || offset > last {
			continue
		}
		if out, err := f.load(offset); err == nil {
			return out
		}
	}
	return nil
}

// oldestFrom returns the oldest usable snapshot at the given offset or after it, or nil if there is
// none.
func (f Folder) oldestFrom(from int64) *reading.Snapshot {
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

// write writes a snapshot to the disk, either completely or not at all. After it has returned, the
// file survives a loss of power. write creates the folder for snapshots, but not its parent folder.
// Otherwise it could create the folder of a removed arm again.
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

// prune deletes the snapshots before newStart, the new beginning of the journal, because nobody
// needs them. If there is no snapshot exactly at newStart, prune keeps the newest snapshot before
// it.
func (f Folder) prune(newStart int64) {
	list := f.offsets()
	for i, offset := range list {
		if i+1 < len(list) && list[i+1] <= newStart {
			_ = os.Remove(f.path(offset))
		}
	}
}

// thin deletes snapshots that host agents took when they ended, if these snapshots are before the
// given offset. It keeps the snapshots that were taken at the end of a segment of the journal.
func (f Folder) thin(before int64) {
	for _, offset := range f.offsets() {
		if offset < before && offset%journal.SegmentSize != 0 {
			_ = os.Remove(f.path(offset))
		}
	}
}

// Tidy deletes files that an earlier host agent began to write but did not finish. It also deletes
// snapshots after the journal's end, because they do not belong to this journal.
func (f Folder) Tidy(end int64) {
	left, _ := filepath.Glob(filepath.Join(paths.Quote(f.dir), "*"+unfinished))
	for _, path := range left {
		_ = os.Remove(path)
	}
	for _, offset := range f.offsets() {
		if offset > end {
			_ = os.Remove(f.path(offset))
		}
	}
}
