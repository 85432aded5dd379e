package folder

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/bits"
	"os"
	"time"
)

// Debian's git compares the times of files and folders only to the second. An arm can set the time of a file's
// content, but not the time of its inode. So if an arm changes a file twice within a second, git can miss the second
// change for ever. The code in this file makes git look again at all files and folders that changed so recently.

// clockLag is the largest difference between the clock of the kernel's file times and the time of time.Now. The clock
// of the file times can be up to 10 ms late, because it advances in steps.
const clockLag = 100 * time.Millisecond

// These constants belong to the format of git's index: see "Untracked cache" in gitformat-index in git's manual.
const (
	madeAt        = 0 // offset of the inode's time of change, in a file's entry and in a folder's times, in bytes
	listSignature = "UNTR"
	listStat      = 36 // size of the times and other data of one folder, in bytes
	listFlags     = 4  // size of the flags of the list, in bytes
	wordSize      = 8  // size of a word of a bitmap, in bytes
)

// clearRecent corrects the copy of an index after git has written to it. It clears the times of each file and folder
// that changed in the second of `since` or later, so that git looks at it again. The caller must take `since` before
// it starts git. If the copy still has the version `before`, git has not written to it, and clearRecent does nothing.
func (o *ownIndex) clearRecent(hash store, before identity, since time.Time) error {
	info, err := os.Lstat(o.path)
	if err != nil {
		return err
	}
	if now := identify(info); now != (identity{}) && now == before {
		return nil
	}
	data, err := os.ReadFile(o.path)
	if err != nil {
		return err
	}
	sum := hash.hash()
	cleared, err := clearSince(data, sum.Size(), since.Add(-clockLag).Unix())
	if err != nil || !cleared {
		return err
	}
	data = data[:len(data)-sum.Size()]
	sum.Write(data)
	if err := os.WriteFile(o.path, sum.Sum(data), 0o600); err != nil {
		return err
	}
	// The copy keeps its modification time, because git also reads each file that is not older than the index.
	return os.Chtimes(o.path, info.ModTime(), info.ModTime())
}

// clearSince clears those times in an index that are not before the given second. The caller must correct the hash at
// the end of the index.
func clearSince(data []byte, idSize int, second int64) (cleared bool, err error) {
	isRecent := func(stat []byte) bool { return madeIn(stat) >= second }
	end, err := eachEntry(data, idSize, func(e indexEntry) {
		if isRecent(e.about) {
			e.clearTimes()
			cleared = true
		}
	})
	if err != nil {
		return false, err
	}
	stats, err := folderStats(data[end:len(data)-idSize], idSize)
	for ; len(stats) > 0; stats = stats[listStat:] {
		if isRecent(stats) { // wrong times make git read the folder again, so its times are cleared
			clear(stats[:listStat])
			cleared = true
		}
	}
	return cleared, err
}

// folderStats finds git's list of untracked files among the extensions of an index. It returns the part of the list
// with the times of the folders, or nil if there is no list.
func folderStats(data []byte, idSize int) ([]byte, error) {
	for name, content := range extensions(data) {
		if name == listSignature {
			return listStats(content, idSize)
		}
	}
	return nil, nil
}

// madeIn returns the second of the last change of a file's or a folder's inode.
func madeIn(stat []byte) int64 { return int64(binary.BigEndian.Uint32(stat[madeAt:])) }

// listStats returns the part of git's list of untracked files that contains the times of the folders. The times of
// two files with ignore rules at the beginning of the list are left out, because git reads these files in each run.
func listStats(list []byte, idSize int) ([]byte, error) {
	r := listReader{rest: list}
	r.take(r.number()) // skips the text that says where the list can be used
	r.take(2*listStat + listFlags + 2*idSize)
	r.text() // skips the name of the files with ignore rules
	folders := r.number()
	if folders == 0 {
		return nil, r.err
	}
	for n := 0; n < folders && r.err == nil; n++ {
		files := r.number()
		r.number() // subfolders
		for i := 0; i <= files && r.err == nil; i++ {
			r.text() // skips the name of the folder, and then the names of its files
		}
	}
	valid := r.bitmap()
	r.bitmap()
	rules := r.bitmap()
	stats := r.take(valid * listStat)
	r.take(rules * idSize)
	if r.take(1); r.err == nil && len(r.rest) > 0 {
		r.err = errList
	}
	return stats, r.err
}

// errList is the error for a list of untracked files whose format Coleo cannot read.
var errList = errors.New("the list of untracked files has an unknown form")

// listReader reads git's list of untracked files. After an error, its methods return zero values.
type listReader struct {
	rest []byte
	err  error
}

func (r *listReader) take(size int) []byte {
	if r.err != nil || size < 0 || size > len(r.rest) {
		r.err = errList
		return nil
	}
	taken := r.rest[:size]
	r.rest = r.rest[size:]
	return taken
}

func (r *listReader) number() int {
	number, size := readNumber(r.rest, 0)
	if r.take(size); number < 0 || r.err != nil {
		r.err = errList
		return 0
	}
	return number
}

// text skips a text that ends with a zero byte.
func (r *listReader) text() {
	if size := bytes.IndexByte(r.rest, 0); size >= 0 {
		r.take(size + 1)
	} else {
		r.err = errList
	}
}

// bitmap skips a bitmap in the format EWAH, and returns how many of its bits are set.
func (r *listReader) bitmap() (set int) {
	const half = 4 // size of each number in the bitmap's header and of the last position, in bytes
	r.take(half)
	size := r.take(half)
	if size == nil {
		return 0
	}
	words := r.take(int(binary.BigEndian.Uint32(size)) * wordSize)
	r.take(half)
	for len(words) > 0 {
		head := binary.BigEndian.Uint64(words)
		// The head says how often a word with the same bits is repeated, and how many other words follow.
		same, repeated, others := head&1, head>>1&(1<<32-1), head>>33
		words = words[wordSize:]
		set += int(same * repeated * 64)
		for ; others > 0 && len(words) > 0; others-- {
			set += bits.OnesCount64(binary.BigEndian.Uint64(words))
			words = words[wordSize:]
		}
	}
	return set
}
