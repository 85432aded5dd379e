package git

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// This file compares and makes indexes without git. Only ordinary commits and indexes count. Git looks at all others,
// so an arm gains nothing by a strange index or a strange folder.

// tracked is a file in a commit.
type tracked struct {
	path string
	mode uint32
	id   []byte
}

// looseFiles returns all files and submodules in the checked-out commit in the order of an index, if the commit and
// all its folders have files of their own. Otherwise known is false, and only git knows the files.
func (r *Repo) looseFiles() (list []tracked, idBytes int, known bool) {
	tree, entries := r.topFolder(r.LooseCommit("HEAD"))
	idBytes, left := len(tree)/2, mostTrees
	known = tree != "" && r.filesIn(entries, idBytes, "", &left, &list)
	// A folder that has the name of a file, or a name twice, would be here in another order.
	for i := 1; i < len(list) && known; i++ {
		before, path := list[i-1].path, list[i].path
		known = before < path && !strings.HasPrefix(path, before+"/")
	}
	return list, idBytes, known
}

// filesIn appends to list the files in the entries of a folder, and in the folders below. It returns false if only
// git knows them. An id has idBytes bytes.
func (r *Repo) filesIn(entries []byte, idBytes int, prefix string, left *int, list *[]tracked) bool {
	if *left--; *left < 0 {
		return false
	}
	names := map[string]bool{}
	for len(entries) > 0 {
		head, rest, ended := bytes.Cut(entries, []byte{0})
		word, name, two := strings.Cut(string(head), " ")
		if !ended || !two || !isPlain(name) || names[name] || len(rest) < idBytes {
			return false
		}
		names[name] = true
		id := rest[:idBytes]
		entries = rest[idBytes:]
		switch word {
		default: // git takes some odd modes for others
			return false
		case "100644", "100755", "120000", "160000":
			if word[:2] != "10" && strings.HasPrefix(name, ".") { // git refuses some links with names of its own files
				return false
			}
			mode, _ := strconv.ParseUint(word, 8, 32) // cannot fail for these words
			*list = append(*list, tracked{prefix + name, uint32(mode), id})
		case "40000":
			kind, below := r.looseObject(hex.EncodeToString(id))
			if kind != "tree" || len(below) == 0 || !r.filesIn(below, idBytes, prefix+name+"/", left, list) {
				return false
			}
		}
	}
	return true
}

// isPlain reports whether git certainly takes a name for a file or a folder on every system. Git refuses some names,
// such as .git, and what some file systems take for .git.
func isPlain(name string) bool {
	for _, c := range []byte(name) {
		if c < ' ' || c > '~' || strings.IndexByte(`/\:~*?"<>|`, c) >= 0 {
			return false
		}
	}
	if slices.Contains([]string{".gitignore", ".gitattributes", ".gitmodules", ".gitkeep"}, name) {
		return true
	}
	return name != "" && name != "." && name != ".." && !strings.HasPrefix(strings.ToLower(name), ".git")
}

// These are the places and sizes of fields in an index of version 2, in bytes: see gitformat-index(5).
const (
	indexHead  = 12 // the magic, the version, and the number of entries
	indexMode  = 24 // the place of the mode in an entry; the times, the device and the inode are before it
	indexID    = 40 // the place of the id in an entry; the user, the group and the size are before it
	indexFlags = 2
	indexAlign = 8
	longName   = 0xfff // the length of the name in the flags of an entry, if the name is longer or as long
)

// plainIndex is the beginning of an index of version 2.
const plainIndex = "DIRC\x00\x00\x00\x02"

// IndexIsHead reports whether the index of the work folder contains exactly the files of the checked-out commit. If
// the result is false, only git knows it.
func (r *Repo) IndexIsHead() bool {
	index, err := ReadRegular(filepath.Join(r.Git, "index"), mayTrackBytes)
	if err != nil || len(index) == mayTrackBytes || !bytes.HasPrefix(index, []byte(plainIndex)) {
		return false
	}
	list, idBytes, known := r.looseFiles()
	if !known || len(index) < indexHead+idBytes {
		return false
	}
	body, sum := index[:len(index)-idBytes], index[len(index)-idBytes:]
	if hashOf(body, 2*idBytes) != hex.EncodeToString(sum) ||
		binary.BigEndian.Uint32(body[len(plainIndex):]) != uint32(len(list)) {
		return false
	}
	rest := body[indexHead:]
	for _, file := range list {
		want := indexEntry(file, idBytes)
		if len(rest) < len(want) || !bytes.Equal(rest[indexMode:indexMode+4], want[indexMode:indexMode+4]) ||
			!bytes.Equal(rest[indexID:len(want)], want[indexID:]) {
			return false
		}
		rest = rest[len(want):]
	}
	return onlyKnownParts(rest)
}

// onlyKnownParts reports whether the end of an index has only parts that change nothing about its files.
func onlyKnownParts(rest []byte) bool {
	const head = 8 // the name and the size of a part
	for len(rest) >= head {
		size := uint64(binary.BigEndian.Uint32(rest[4:head]))
		if !slices.Contains([]string{"TREE", "REUC"}, string(rest[:4])) || size > uint64(len(rest)-head) {
			return false
		}
		rest = rest[head+size:]
	}
	return len(rest) == 0
}

// indexEntry returns the entry of a file in an index. It says nothing about the file in the work folder.
func indexEntry(file tracked, idBytes int) []byte {
	size := indexID + idBytes + indexFlags + len(file.path)
	entry := make([]byte, size+indexAlign-size%indexAlign) // at least one zero byte ends the path
	binary.BigEndian.PutUint32(entry[indexMode:], file.mode)
	copy(entry[indexID:], file.id)
	binary.BigEndian.PutUint16(entry[indexID+idBytes:], uint16(min(len(file.path), longName)))
	copy(entry[indexID+idBytes+indexFlags:], file.path)
	return entry
}

// WriteFreshIndex writes an index of the checked-out commit to a new file, as git read-tree does. It returns false,
// and writes nothing, if only git knows the files of the commit.
func (r *Repo) WriteFreshIndex(path string) (bool, error) {
	list, idBytes, known := r.looseFiles()
	if !known {
		return false, nil
	}
	index := binary.BigEndian.AppendUint32([]byte(plainIndex), uint32(len(list)))
	for _, file := range list {
		index = append(index, indexEntry(file, idBytes)...)
	}
	sum, err := hex.DecodeString(hashOf(index, 2*idBytes))
	if err != nil {
		return false, err
	}
	return true, os.WriteFile(path, append(index, sum...), 0o600)
}
