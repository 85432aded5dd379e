package folder

import (
	"encoding/binary"
	"fmt"
	"hash"
	"slices"
	"strings"
)

// These constants belong to the extension of git's index that lists the trees: see gitformat-index in git's manual.
const (
	treesSignature = "TREE"
	noTree         = -1 // in the place of a folder's number of files, it says that the folder's tree is unknown
)

// regularModes lists the modes that a file of a tree can have, as in the index.
var regularModes = []uint32{0o100644, 0o100755, 0o120000, 0o160000}

// trees computes the ids of the trees that a commit of an index would have. With these ids in the index, git status
// reads only those trees of HEAD that differ. In a repository of 100,000 files, git status then takes a quarter less
// time (git 2.39).
type trees struct {
	hash  hash.Hash
	open  []*tree // the folders on the path to the last file, beginning with the top folder
	last  string  // the name of the last file
	wrong bool    // the index is not sorted, or has an invalid name or a very long one, so no tree is known
}

// tree is one folder.
type tree struct {
	name    string
	content []byte // of the tree object
	files   int    // how many files are in the folder and its subfolders, or noTree
	subs    []*tree
	id      []byte
}

func newTrees(h hash.Hash) *trees { return &trees{hash: h, open: []*tree{{}}} }

// add adds the next file of the index.
func (t *trees) add(e indexEntry) {
	inOrder := t.last < e.name || t.last == e.name && e.flags()&stages != 0
	if !inOrder || len(e.name) > longestName || strings.Contains("/"+e.name+"/", "//") {
		t.wrong = true
	}
	t.last = e.name
	if t.wrong {
		return
	}
	folders := strings.Split(e.name, "/")
	file := folders[len(folders)-1]
	folders = folders[:len(folders)-1]
	same := 0
	for same < len(folders) && same+1 < len(t.open) && t.open[same+1].name == folders[same] {
		same++
	}
	t.closeTo(same + 1)
	for _, name := range folders[same:] {
		in, next := t.open[len(t.open)-1], &tree{name: name}
		in.subs = append(in.subs, next)
		t.open = append(t.open, next)
	}
	in := t.open[len(t.open)-1]
	mode := binary.BigEndian.Uint32(e.about[modeAt:])
	isAdded := e.flags()&extended != 0 && binary.BigEndian.Uint16(e.bits[2:])&intentToAdd != 0
	if isAdded || e.flags()&stages != 0 || !slices.Contains(regularModes, mode) {
		in.files = noTree // the folder's tree is unknown, because a commit would not contain this entry
	}
	in.add(mode, file, e.id, 1)
}

// add adds a file, or a subfolder that contains `files` files.
func (d *tree) add(mode uint32, name string, id []byte, files int) {
	if d.files == noTree || files == noTree {
		d.files = noTree
		return
	}
	d.files += files
	d.content = append(fmt.Appendf(d.content, "%o %s\x00", mode, name), id...)
}

// closeTo closes open folders, beginning with the innermost one, until only `left` folders are open. It
// computes the id of each closed folder and adds the folder to its parent.
func (t *trees) closeTo(left int) {
	const folderMode = 0o40000
	for len(t.open) > left {
		d := t.open[len(t.open)-1]
		t.open = t.open[:len(t.open)-1]
		t.setID(d)
		t.open[len(t.open)-1].add(folderMode, d.name, d.id, d.files)
	}
}

func (t *trees) setID(d *tree) {
	if d.files == noTree {
		return
	}
	t.hash.Reset()
	fmt.Fprintf(t.hash, "tree %d\x00", len(d.content))
	t.hash.Write(d.content)
	d.id, d.content = t.hash.Sum(nil), nil
}

// extension returns the extension of the index, or nil if no tree is known. The caller must not call add
// afterwards.
func (t *trees) extension() []byte {
	if t.wrong {
		return nil
	}
	t.closeTo(1)
	t.setID(t.open[0])
	list := t.open[0].list(nil)
	head := binary.BigEndian.AppendUint32([]byte(treesSignature), uint32(len(list))) // #nosec G115: the index is smaller
	return append(head, list...)
}

// list appends the folder and its subfolders to the content of the extension.
func (d *tree) list(out []byte) []byte {
	out = fmt.Appendf(out, "%s\x00%d %d\n", d.name, d.files, len(d.subs))
	out = append(out, d.id...)
	for _, sub := range d.subs {
		out = sub.list(out)
	}
	return out
}
