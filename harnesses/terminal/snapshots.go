package terminal

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
	"coleo.dev/holder"
)

const (
	snapshotEnd = ".screen"
	unfinished  = ".new"
)

// snapshots is the folder with a generation's screens. It is a cache: at any time it may
// be lost or be of another version.
type snapshots struct {
	dir   string
	nonce string // "" accepts any generation, for one that has ended
}

func snapshotsOf(h coleo.Handle) snapshots {
	return snapshots{dir: filepath.Join(h.Dir, "snapshots"), nonce: h.Nonce}
}

func (s snapshots) path(offset int64) string {
	return filepath.Join(s.dir, fmt.Sprintf("%016x%s", offset, snapshotEnd))
}

// offsets returns the offsets of the screens on disk, ascending.
func (s snapshots) offsets() []int64 {
	entries, err := os.ReadDir(s.dir)
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
func (s snapshots) load(offset int64) (*reading.Snapshot, error) {
	raw, err := os.ReadFile(s.path(offset))
	if err != nil {
		return nil, fmt.Errorf("read a snapshot of the screen: %w", err)
	}
	out, err := reading.DecodeSnapshot(raw)
	if err != nil {
		return nil, fmt.Errorf("read snapshot %s: %w", s.path(offset), err)
	}
	if s.nonce != "" && out.Nonce != s.nonce || out.Offset != offset {
		return nil, fmt.Errorf("read snapshot %s: it is of another session", s.path(offset))
	}
	return out, nil
}

// newest returns the newest usable screen between two offsets, both included, or nil when
// there is none.
func (s snapshots) newest(from, until int64) *reading.Snapshot {
	for _, offset := range slices.Backward(s.offsets()) {
		if offset < from || offset > until {
			continue
		}
		if out, err := s.load(offset); err == nil {
			return out
		}
	}
	return nil
}

// oldest returns the first usable screen from an offset on, or nil when there is none.
func (s snapshots) oldest(from int64) *reading.Snapshot {
	for _, offset := range s.offsets() {
		if offset < from {
			continue
		}
		if out, err := s.load(offset); err == nil {
			return out
		}
	}
	return nil
}

// write writes a snapshot to the disk, whole or not at all, and returns once it would
// survive a loss of power. It makes the snapshots' folder but not its parent, so that an
// arm removed meanwhile stays removed.
func (s snapshots) write(offset int64, data []byte) error {
	if err := os.Mkdir(s.dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make the folder for snapshots: %w", err)
	}
	path := s.path(offset)
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
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// prune deletes screens that are of no use because the journal now begins at start,
// after them. The newest of those screens stays, unless there is one at start itself.
func (s snapshots) prune(start int64) {
	list := s.offsets()
	for i, offset := range list {
		if i+1 < len(list) && list[i+1] <= start {
			_ = os.Remove(s.path(offset))
		}
	}
}

// thin deletes the screens before an offset that were taken inside a segment. Each end of
// a host agent makes one of those.
func (s snapshots) thin(before int64) {
	for _, offset := range s.offsets() {
		if offset < before && offset%holder.SegmentSize != 0 {
			_ = os.Remove(s.path(offset))
		}
	}
}

// tidy deletes files that an earlier host agent left unfinished, and screens after the
// journal's end, which do not belong to this journal.
func (s snapshots) tidy(end int64) {
	left, _ := filepath.Glob(filepath.Join(s.dir, "*"+unfinished))
	for _, path := range left {
		_ = os.Remove(path)
	}
	for _, offset := range s.offsets() {
		if offset > end {
			_ = os.Remove(s.path(offset))
		}
	}
}
