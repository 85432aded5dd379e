package folder

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"coleo.dev"
	"coleo.dev/workspace/git"
)

// These constants are more parts of the format of git's index: see index.go.
const (
	writtenAt    = 8      // where the time of the content begins, in bytes from the start of the entry
	sizeAt       = 36     // where the size begins; it is the last number before the id
	assumed      = 0x8000 // a flag: git does not look whether the file has changed
	skipWorktree = 0x4000 // an extended flag: git does not look for the file
	stages       = 0x3000 // the flags of a file in conflict
	moreBytes    = 0x80   // of a number in version 4: another byte follows
)

// index returns the path of the index of the work folder.
func (f *Folder) index() string { return filepath.Join(f.repo.Git, "index") }

// copyIndex writes a copy of the work folder's index to a path. An arm can write anything into the index, and so
// hide a changed file. So the copy has only the names, modes and objects of the files, and says of no file that it
// is unchanged. It keeps the mark of a sparse checkout only for a file that is not there. The ids of the trees in the
// copy are computed from the files: see trees.
//
// If an older copy is at the path, git has written there which files it has read. This remains for each file
// whose object is the same.
func (f *Folder) copyIndex(ctx context.Context, path string) error {
	data, err := git.ReadRegular(f.index(), mostIndex+1)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return os.RemoveAll(path) // nothing is staged
	case err != nil:
		return err
	case len(data) > mostIndex:
		return coleo.Errorf(coleo.EUnsupported, "the index of %s is larger than %d MB, so its changes are not known", f.Root(),
			mostIndex>>20)
	}
	c := copying{hash: store{format: f.format}, in: &parents{files: f.files}}
	written := c.readOlder(path)
	copied, err := c.copy(data)
	if errors.Is(err, errIndex) {
		return f.copyByGit(ctx, path)
	}
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, copied, 0o600); err != nil {
		return err
	}
	return os.Chtimes(path, written, written)
}

// copying is one call of copyIndex.
type copying struct {
	hash  store
	in    *parents
	older map[string]older
}

// older is what an older copy says about a file.
type older struct{ about, id []byte }

// readOlder reads what git has written into an older copy. It returns the time of the older copy, or of now if there
// is none. It leaves out each file that was written in the same second, because git could not have seen a
// change right after it.
func (c *copying) readOlder(path string) (written time.Time) {
	info, err := os.Stat(path)
	if err != nil {
		return time.Now()
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return time.Now()
	}
	c.older = map[string]older{}
	_, err = eachEntry(data, c.hash.hash().Size(), func(e indexEntry) {
		if e.flags()&stages == 0 && int64(binary.BigEndian.Uint32(e.about[writtenAt:])) < info.ModTime().Unix() {
			c.older[e.name] = older{e.about, e.id}
		}
	})
	if err != nil {
		c.older = nil
	}
	return info.ModTime()
}

// copy returns the copy of an index. It returns errIndex for a form that only git can read.
func (c *copying) copy(data []byte) ([]byte, error) {
	size := c.hash.hash().Size()
	out, known := slices.Clone(data), newTrees(c.hash.hash())
	end, err := eachEntry(out, size, func(e indexEntry) {
		c.clean(e)
		known.add(e)
	})
	if err != nil || hasParts(data[end:len(data)-size]) {
		return nil, errors.Join(err, errIndex)
	}
	out = append(out[:end], known.extension()...)
	sum := c.hash.hash()
	sum.Write(out)
	return sum.Sum(out), nil
}

// clean removes from an entry what could hide the file.
func (c *copying) clean(e indexEntry) {
	mode := e.about[modeAt : modeAt+4]
	was, known := c.older[e.name]
	if known && e.flags()&stages == 0 && bytes.Equal(was.id, e.id) && bytes.Equal(was.about[modeAt:modeAt+4], mode) {
		copy(e.about, was.about)
	} else { // a false size hides nothing, because git reads a file of the same size
		clear(e.about[:modeAt])
		clear(e.about[modeAt+len(mode) : sizeAt])
	}
	binary.BigEndian.PutUint16(e.bits, e.flags()&^assumed)
	if e.flags()&extended == 0 {
		return
	}
	if more := binary.BigEndian.Uint16(e.bits[2:]); more&skipWorktree != 0 && c.isThere(e.name) {
		binary.BigEndian.PutUint16(e.bits[2:], more&^skipWorktree)
	}
}

func (c *copying) isThere(name string) bool {
	info, err := c.in.lstat(name)
	return err != nil || info != nil
}

// hasParts reports whether the extensions of an index change which files it has: the index is split, or has only
// the folders of a sparse checkout. The other extensions make git faster.
func hasParts(extensions []byte) bool {
	const head = 8 // the signature, and the size of what follows
	for len(extensions) >= head {
		if name := string(extensions[:4]); name == "link" || name == "sdir" {
			return true
		}
		extensions = extensions[min(len(extensions), head+int(binary.BigEndian.Uint32(extensions[4:]))):]
	}
	return false
}

// copyByGit is like copyIndex, but lets git read the index.
func (f *Folder) copyByGit(ctx context.Context, path string) error {
	out, err := f.repo.Output(ctx, "ls-files", "--stage", "-v", "-z")
	if err != nil {
		return err
	}
	if err := os.RemoveAll(path); err != nil {
		return err
	}
	in := &parents{files: f.files}
	var all, absent strings.Builder
	for line := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		tag, entry, _ := strings.Cut(line, " ")
		all.WriteString(entry + "\x00")
		_, name, _ := strings.Cut(entry, "\t")
		if info, err := in.lstat(name); strings.EqualFold(tag, "S") && err == nil && info == nil {
			absent.WriteString(name + "\x00")
		}
	}
	for _, one := range []struct{ how, list string }{{"--index-info", all.String()}, {"--skip-worktree", absent.String()}} {
		args := []string{"update-index", "-z", one.how}
		if one.how != "--index-info" {
			args = append(args, "--stdin")
		}
		if _, err := f.repo.Run(ctx, git.Call{Args: args, OwnIndex: path,
			Stdin: strings.NewReader(one.list)}); err != nil {
			return err
		}
	}
	return nil
}

// errIndex says that an index has a form that Coleo does not know.
var errIndex = errors.New("the index has an unknown form")

// indexEntry is one file of an index. All fields but the name are parts of the index itself.
type indexEntry struct {
	name  string
	about []byte // the file's times, device, inode, mode, owner and size
	id    []byte
	bits  []byte // the flags, and the extended flags if there are any
}

func (e indexEntry) flags() uint16 { return binary.BigEndian.Uint16(e.bits) }

// eachEntry calls do for each entry of an index. It returns the offset of the first byte after the entries.
func eachEntry(data []byte, idSize int, do func(indexEntry)) (end int, err error) {
	if len(data) < indexHeader+idSize || string(data[:4]) != indexSignature {
		return 0, errIndex
	}
	version, count := binary.BigEndian.Uint32(data[4:]), binary.BigEndian.Uint32(data[8:])
	if version < 2 || version > 4 {
		return 0, errIndex
	}
	at, last, before := indexHeader, len(data)-idSize, ""
	for range count {
		name := at + statSize + idSize + 2
		if name+2 > last {
			return 0, errIndex
		}
		e := indexEntry{about: data[at : at+statSize], id: data[at+statSize : at+statSize+idSize], bits: data[name-2 : name+2]}
		if e.flags()&extended != 0 {
			name += 2
		}
		if version == 4 { // in version 4, a number says how much of the previous name is cut off
			var cut int
			if cut, name = readNumber(data[:last], name); cut < 0 || cut > len(before) {
				return 0, errIndex
			}
			e.name = before[:len(before)-cut]
		}
		length := bytes.IndexByte(data[min(name, last):last], 0)
		if length < 0 {
			return 0, errIndex
		}
		e.name += string(data[name : name+length])
		before = e.name
		if version < 4 {
			at += (name - at + length + alignment) / alignment * alignment
		} else {
			at = name + length + 1
		}
		do(e)
	}
	if at > last {
		return 0, errIndex
	}
	return at, nil
}

// readNumber reads a number of version 4, and returns the offset of the byte after it. The number is -1 if the data
// ends before, or if no name is that long.
func readNumber(data []byte, at int) (number, after int) {
	const longest = 1 << 20
	for ; at < len(data) && number < longest; at++ {
		number = number<<7 + int(data[at]&^moreBytes)
		if data[at]&moreBytes == 0 {
			return number, at + 1
		}
		number++
	}
	return -1, at
}
