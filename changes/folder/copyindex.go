package folder

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"coleo.dev"
	"coleo.dev/workspace/git"
)

// These constants belong to the format of git's index, like those in index.go.
const (
	writtenAt    = 8      // offset of the file's modification time in an entry, in bytes
	sizeAt       = 36     // offset of the file's size in an entry, in bytes; the id follows the size
	assumed      = 0x8000 // a flag: git assumes that the file is unchanged, and does not check it
	skipWorktree = 0x4000 // an extended flag: git does not look for the file in the work folder
	stages       = 0x3000 // the two flag bits that are set for a file in conflict
	moreBytes    = 0x80   // for the numbers in version 4: if this bit of a byte is set, another byte follows
)

// index returns the path of the work folder's index.
func (f *Folder) index() string { return filepath.Join(f.repo.Git, "index") }

// copyIndex writes a copy of the work folder's index to `path`.
//
// An arm can write anything into the index, and could hide a changed file in this way. Therefore the copy contains
// only the names, modes and objects of the files, and marks no file as unchanged. A sparse checkout marks the files
// that it leaves out. The copy keeps such a mark only if the file is really missing. copyIndex computes the ids of
// the trees from the files: see trees.
//
// There may be an older copy at `path`, in which git has noted the size and the times of each file that it has read.
// copyIndex keeps these notes for each file whose object in the index is still the same.
func (f *Folder) copyIndex(ctx context.Context, path string) error {
	data, err := git.ReadRegular(f.index(), mostIndex+1)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return os.RemoveAll(path) // delete an older copy, because there is no index any more and so nothing is staged
	case err != nil:
		return err
	case len(data) > mostIndex:
		return coleo.Errorf(coleo.EUnsupported, "the index of %s is larger than %d MB, so its changes are not known",
			f.Root(), mostIndex>>20)
	}
	c := indexCopy{hash: store{format: f.format}, in: &parents{files: f.files}}
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

// indexCopy contains the data of one call of copyIndex.
type indexCopy struct {
	hash  store
	in    *parents
	older map[string]older
}

// older contains what git has noted about one file in the copy of the index that an earlier diff made. Its fields are
// those of indexEntry.
type older struct{ about, id []byte }

// readOlder reads the copy of the index that an earlier diff made, and stores in c.older what git has noted there about
// each file. It leaves out a file whose content or inode changed in the second in which git wrote the copy, or later.
// Git compares times only to the second, so git could have missed another change in that second. readOlder returns the
// modification time of the copy, or the present time if there is no copy.
func (c *indexCopy) readOlder(path string) (written time.Time) {
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
		changed := max(int64(binary.BigEndian.Uint32(e.about[writtenAt:])), madeIn(e.about))
		if e.flags()&stages == 0 && changed < info.ModTime().Unix() {
			c.older[e.name] = older{e.about, e.id}
		}
	})
	if err != nil {
		c.older = nil
	}
	return info.ModTime()
}

// copy returns a copy of an index in which each entry is cleaned. It returns errIndex for an index that only git
// can read.
func (c *indexCopy) copy(data []byte) ([]byte, error) {
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

// clean removes false data from the entry of a file. With such data, an arm could hide a change of the file.
func (c *indexCopy) clean(e indexEntry) {
	mode := e.about[modeAt : modeAt+4]
	was, known := c.older[e.name]
	if known && e.flags()&stages == 0 && bytes.Equal(was.id, e.id) && bytes.Equal(was.about[modeAt:modeAt+4], mode) {
		copy(e.about, was.about)
	} else {
		e.clearTimes()
	}
	binary.BigEndian.PutUint16(e.bits, e.flags()&^assumed)
	if e.flags()&extended == 0 {
		return
	}
	if more := binary.BigEndian.Uint16(e.bits[2:]); more&skipWorktree != 0 && c.isThere(e.name) {
		binary.BigEndian.PutUint16(e.bits[2:], more&^skipWorktree)
	}
}

func (c *indexCopy) isThere(name string) bool {
	info, err := c.in.lstat(name)
	return err != nil || info != nil
}

// hasParts reports whether an extension changes which files the index contains. That is so for a split index, and
// for an index that contains folders of a sparse checkout. All other extensions only make git faster.
func hasParts(data []byte) bool {
	for name := range extensions(data) {
		if name == "link" || name == "sdir" {
			return true
		}
	}
	return false
}

// extensions returns the name and the content of each extension in the data. A truncated extension ends early.
func extensions(data []byte) iter.Seq2[string, []byte] {
	const head = 8 // size of an extension's name and length, in bytes
	return func(yield func(string, []byte) bool) {
		for len(data) >= head {
			end := min(len(data), head+int(binary.BigEndian.Uint32(data[4:])))
			if !yield(string(data[:4]), data[head:end]) {
				return
			}
			data = data[end:]
		}
	}
}

// copyByGit does what copyIndex does, but uses git to read the index.
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
	for _, one := range []struct{ how, list string }{
		{"--index-info", all.String()}, {"--skip-worktree", absent.String()},
	} {
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

// errIndex is the error for an index whose format Coleo cannot read.
var errIndex = errors.New("the index has an unknown form")

// indexEntry is the entry of one file in an index. The byte slices are parts of the index itself, so changing
// them changes the index.
type indexEntry struct {
	name  string
	about []byte // the file's times, device, inode, mode, owner and size
	id    []byte
	bits  []byte // the flags, and the extended flags if there are any
}

func (e indexEntry) flags() uint16 { return binary.BigEndian.Uint16(e.bits) }

// clearTimes clears the data with which git recognizes an unchanged file, so that git reads the file. It keeps the
// size: with a wrong size, git sees a change, and with the right size, git reads the file.
func (e indexEntry) clearTimes() {
	clear(e.about[:modeAt])
	clear(e.about[modeAt+4 : sizeAt])
}

// eachEntry calls `do` for each entry of an index. It returns the offset of the byte after the last entry.
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
		e := indexEntry{about: data[at : at+statSize], id: data[at+statSize : at+statSize+idSize],
			bits: data[name-2 : name+2]}
		if e.flags()&extended != 0 {
			name += 2
		}
		if version == 4 { // in version 4, a number gives how many bytes of the previous name are cut off
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

// readNumber reads a number in the format of index version 4. It returns the number and the offset of the
// byte after it. The number is -1 if the data ends too early or the number is larger than the length of any
// name.
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
