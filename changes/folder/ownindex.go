package folder

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"coleo.dev/changes"
	"coleo.dev/workspace/git"
)

const (
	// leastIndex is the size in bytes of the smallest index of which Indexes keeps a copy. It has
	// about 10,000 files. In a smaller repository, git looks for untracked files within some
	// milliseconds.
	leastIndex = 1 << 20
	// mostIndex is the size in bytes of the largest index of which Indexes keeps a copy. It has about
	// 2 million files.
	mostIndex = 256 << 20
	// mostIndexes is the largest number of kept copies. A copy for 100,000 files takes 8 MB of the
	// disk.
	mostIndexes = 16
)

// Indexes keeps a copy of the index of each large work folder. Git writes into the copy which
// folders contain untracked files. So the next diff does not read the names of all files again.
//
// Indexes never trusts such a list that it finds in the index of the work folder, because an arm can
// write a false one. The zero value keeps no copies. Several goroutines can call its methods at the
// same time.
type Indexes struct {
	// Dir is a folder for the copies. If Dir is "", there are no copies. Only one process at a time may
	// use the folder. Indexes deletes what an earlier process has left in it.
	Dir string
	// Least is the size in bytes of the smallest index of which Indexes keeps a copy. If Least is 0,
	// that is about 10,000 files.
	Least int64

	mu   sync.Mutex
	kept map[string]*ownIndex // by the git folder of the work folder; nil before the first copy
	uses int                  // how often a copy was used
}

// ownIndex is the copy of one index.
type ownIndex struct {
	path string
	used int // the number of its last use; Indexes.mu guards it

	mu sync.Mutex
	of identity // the index that was copied; the zero value means that there is no copy
}

// identity tells one version of a file from the next one.
type identity struct {
	inode         uint64
	size          int64
	written, made time.Time // the time of the content, and of the inode
}

// status asks git for the status of a folder. It uses the copy of the folder's index if it can.
func (x *Indexes) status(ctx context.Context, f *Folder) (changes.Status, error) {
	call := git.Call{Args: []string{"status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all", "--no-renames",
		"--no-ahead-behind"}}
	if own := x.lockCopy(f); own != nil {
		defer own.mu.Unlock()
		call.OwnIndex = own.path
		out, err := f.repo.Run(ctx, call)
		if err == nil {
			return changes.ParseStatus(out)
		}
		own.forget()
		if ctx.Err() != nil {
			return changes.Status{}, err
		}
		call.OwnIndex = "" // the fault may be in the copy
	}
	out, err := f.repo.Run(ctx, call)
	if err != nil {
		return changes.Status{}, err
	}
	return changes.ParseStatus(out)
}

// lockCopy returns the copy of a folder's index, and locks the copy. It first copies the index if it
// has changed. It returns nil if there is no copy, or if another diff uses the copy.
func (x *Indexes) lockCopy(f *Folder) *ownIndex {
	if x == nil || x.Dir == "" || !keepsTimes(f.repo.Work) {
		return nil
	}
	file, err := os.OpenFile(filepath.Join(f.repo.Git, "index"), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	defer file.Close()
	info, err := file.Stat()
	least := x.Least
	if least == 0 {
		least = leastIndex
	}
	if err != nil || !info.Mode().IsRegular() || info.Size() < least || info.Size() > mostIndex {
		return nil
	}
	own, err := x.copyOf(f.repo.Git)
	if err != nil || !own.mu.TryLock() {
		return nil
	}
	if now := identify(info); own.of != now || !exists(own.path) {
		if err := own.copy(file, info, f.format); err != nil {
			own.mu.Unlock()
			return nil
		}
		own.of = now
	}
	return own
}

// copyOf returns the record of the copy for a git folder. If there are too many copies, it forgets
// the copy that was used least recently.
func (x *Indexes) copyOf(gitDir string) (*ownIndex, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.kept == nil {
		if err := errors.Join(os.RemoveAll(x.Dir), os.MkdirAll(x.Dir, 0o700)); err != nil {
			return nil, err
		}
		x.kept = map[string]*ownIndex{}
	}
	own := x.kept[gitDir]
	if own == nil {
		x.makeRoom()
		sum := sha256.Sum256([]byte(gitDir))
		own = &ownIndex{path: filepath.Join(x.Dir, hex.EncodeToString(sum[:]))}
		x.kept[gitDir] = own
	}
	x.uses++
	own.used = x.uses
	return own, nil
}

func (x *Indexes) makeRoom() {
	for len(x.kept) >= mostIndexes {
		oldest := ""
		for name, own := range x.kept {
			if oldest == "" || own.used < x.kept[oldest].used {
				oldest = name
			}
		}
		own := x.kept[oldest]
		if !own.mu.TryLock() {
			return // a diff uses the copy; a later call removes it
		}
		own.forget()
		own.mu.Unlock()
		delete(x.kept, oldest)
	}
}

// forget deletes the copy. The caller has locked it.
func (o *ownIndex) forget() {
	o.of = identity{}
	_ = os.Remove(o.path)
	_ = os.Remove(o.path + ".lock") // a killed git leaves it behind
}

// copy copies an index, and gives the copy the time of the original. Git compares this time with
// the times of files, to recognize a file that changed at the moment when the index was written.
func (o *ownIndex) copy(file io.Reader, info os.FileInfo, format string) error {
	o.forget()
	data, err := io.ReadAll(io.LimitReader(file, mostIndex))
	if err == nil {
		data, err = withoutLists(data, store{format: format})
	}
	if err != nil {
		return err
	}
	if err := os.WriteFile(o.path, data, 0o600); err != nil {
		return err
	}
	return os.Chtimes(o.path, info.ModTime(), info.ModTime())
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// errIndex says that an index has a form that Coleo does not know.
var errIndex = errors.New("the index has an unknown form")

// keptParts lists the extensions of an index that git needs. These are the trees, the parts of a
// split index, the resolved conflicts and the folders of a sparse index. The other extensions are
// lists that make git faster.
var keptParts = []string{"TREE", "link", "REUC", "sdir"}

// withoutLists returns an index without the lists that an arm could have written to hide files.
func withoutLists(data []byte, s store) ([]byte, error) {
	end, err := endOfEntries(data, s.hash().Size())
	if err != nil {
		return nil, err
	}
	out := append(make([]byte, 0, len(data)), data[:end]...)
	rest := data[end : len(data)-s.hash().Size()]
	for len(rest) > 0 {
		const head = 8 // the signature, and the size of what follows
		if len(rest) < head || int(binary.BigEndian.Uint32(rest[4:])) > len(rest)-head {
			return nil, errIndex
		}
		size := head + int(binary.BigEndian.Uint32(rest[4:]))
		for _, name := range keptParts {
			if string(rest[:4]) == name {
				out = append(out, rest[:size]...)
			}
		}
		rest = rest[size:]
	}
	sum := s.hash()
	sum.Write(out)
	return sum.Sum(out), nil
}

// endOfEntries returns the offset of the first byte after the entries of an index.
func endOfEntries(data []byte, idSize int) (int, error) {
	if len(data) < indexHeader+idSize || string(data[:4]) != indexSignature {
		return 0, errIndex
	}
	version, count := binary.BigEndian.Uint32(data[4:]), binary.BigEndian.Uint32(data[8:])
	if version < 2 || version > 4 {
		return 0, errIndex
	}
	at, last := indexHeader, len(data)-idSize
	for range count {
		name := at + statSize + idSize + 2
		if name > last {
			return 0, errIndex
		}
		if binary.BigEndian.Uint16(data[name-2:])&extended != 0 {
			name += 2
		}
		length := bytes.IndexByte(data[min(name, last):last], 0)
		if length < 0 {
			return 0, errIndex
		}
		if version < 4 {
			at += (name - at + length + alignment) / alignment * alignment
			continue
		}
		// In version 4, a number says how much of the previous name is cut off.
		// The number's last byte is the first one below 0x80, and can be zero.
		for name < last && data[name] >= 0x80 {
			name++
		}
		name++
		if length = bytes.IndexByte(data[min(name, last):last], 0); length < 0 {
			return 0, errIndex
		}
		at = name + length + 1
	}
	if at > last {
		return 0, errIndex
	}
	return at, nil
}
