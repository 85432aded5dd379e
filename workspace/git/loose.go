package git

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// The code in this file answers questions about objects and about the index from the files of the repository, if
// possible. It avoids starting git, because for most of these questions a start takes longer than all other work.

// mostLoose is the size in bytes of the largest object that looseObject reads.
const mostLoose = 1 << 20

// wholeCommit matches the lines of a commit that git needs. Git refuses a commit without them.
var wholeCommit = regexp.MustCompile(`^tree ([0-9a-f]+)\n(?:parent [0-9a-f]+\n)*author `)

// looseObject returns the type and the content of an object, if the object has a file of its own and is small.
// Otherwise the type is "", and only git knows whether the object exists. looseObject checks the content against
// the id, as git does.
func (r *Repo) looseObject(id string) (kind string, content []byte) {
	if !wholeID.MatchString(id) {
		return "", nil
	}
	packed, err := ReadRegular(filepath.Join(r.Common, "objects", id[:2], id[2:]), mostLoose)
	if err != nil {
		return "", nil
	}
	z, err := zlib.NewReader(bytes.NewReader(packed))
	if err != nil {
		return "", nil
	}
	object, err := io.ReadAll(io.LimitReader(z, mostLoose))
	if err != nil || len(object) == mostLoose || hashOf(object, len(id)) != id {
		return "", nil
	}
	head, content, _ := bytes.Cut(object, []byte{0})
	kind, size, _ := strings.Cut(string(head), " ")
	if size != strconv.Itoa(len(content)) || kind == "commit" && !wholeCommit.Match(content) {
		return "", nil
	}
	return kind, content
}

// hashOf returns the id of an object in the format whose ids have the given length.
func hashOf(object []byte, length int) string {
	if sum := sha256.Sum256(object); length == hex.EncodedLen(len(sum)) {
		return hex.EncodeToString(sum[:])
	}
	sum := sha1.Sum(object)
	return hex.EncodeToString(sum[:])
}

// LooseKinds returns the types of the objects, if looseObject finds the type of each. Otherwise it returns nil.
func (r *Repo) LooseKinds(ids []string) map[string]string {
	const most = 8 // with more objects, one call of git is as fast
	if len(ids) > most {
		return nil
	}
	kinds := map[string]string{}
	for _, id := range ids {
		if kinds[id], _ = r.looseObject(id); kinds[id] == "" {
			return nil
		}
	}
	return kinds
}

// LooseCommit returns the id of the commit with the given name: HEAD, the full name of a branch, or an id. It reads
// only loose files: each contains one object or one ref, unlike a pack. If the commit or the branch has no file of its
// own, LooseCommit returns "", and only git can find the commit.
func (r *Repo) LooseCommit(name string) string {
	if name == "HEAD" {
		name = r.Head()
	}
	id := name
	if strings.HasPrefix(name, branches) {
		id = r.loose(name)
	}
	if kind, _ := r.looseObject(id); kind != "commit" {
		return ""
	}
	return id
}

// LooseTree returns the id of the tree of a commit if both have files of their own. Otherwise it returns "", and only
// git can find the tree. `commit` is a full id.
func (r *Repo) LooseTree(commit string) string {
	tree, _ := r.topFolder(commit)
	return tree
}

// topFolder returns the id and the content of the tree of a commit if both have files of their own.
func (r *Repo) topFolder(commit string) (tree string, entries []byte) {
	kind, content := r.looseObject(commit)
	if kind != "commit" {
		return "", nil
	}
	tree = string(wholeCommit.FindSubmatch(content)[1])
	if kind, entries = r.looseObject(tree); kind != "tree" {
		return "", nil
	}
	return tree, entries
}

// MayContain reports whether the top folder of a commit can have an entry with the given name. If MayContain returns
// true, only git can tell whether the entry exists. `commit` is a full id.
func (r *Repo) MayContain(commit, name string) bool {
	tree, entries := r.topFolder(commit)
	return tree == "" || bytes.Contains(entries, []byte(" "+name+"\x00"))
}

// Link is a submodule in a commit.
type Link struct{ Path, ID string }

// mostTrees is how many folders of a commit LooseLinks reads. For more folders, a start of git is as fast.
const mostTrees = 32

// LooseLinks returns the submodules in a commit in the order of `git ls-tree`, if the commit and all its folders have
// files of their own. Otherwise `known` is false, and only git can find the submodules. `commit` is a full id.
func (r *Repo) LooseLinks(commit string) (links []Link, known bool) {
	tree, entries := r.topFolder(commit)
	left := mostTrees
	return r.linksIn(entries, len(tree)/2, "", &left, nil, tree != "")
}

// linksIn appends the submodules in a folder, and in the folders below it, to `links`. `entries` is the content of
// the folder's tree object, in which each id has `idBytes` bytes. `left` counts down the folders that may still be
// read.
func (r *Repo) linksIn(entries []byte, idBytes int, prefix string, left *int, links []Link, known bool) ([]Link, bool) {
	if *left--; *left < 0 || !known {
		return nil, false
	}
	for len(entries) > 0 {
		head, rest, ended := bytes.Cut(entries, []byte{0})
		mode, name, two := strings.Cut(string(head), " ")
		if !ended || !two || name == "" || len(rest) < idBytes {
			return nil, false
		}
		id := hex.EncodeToString(rest[:idBytes])
		entries = rest[idBytes:]
		switch mode {
		default: // leave an odd mode to git, which treats some of them as other modes
			return nil, false
		case "100644", "100755", "120000":
		case "160000":
			links = append(links, Link{prefix + name, id})
		case "40000":
			kind, below := r.looseObject(id)
			if links, known = r.linksIn(below, idBytes, prefix+name+"/", left, links, kind == "tree"); !known {
				return nil, false
			}
		}
	}
	return links, true
}

// mayTrackBytes is the size in bytes of the largest index that MayTrack reads.
const mayTrackBytes = 64 << 20

// MayTrack reports whether the index of the work folder can have a file whose path contains the given text. If
// MayTrack returns true, only git can tell whether there is such a file. MayTrack always returns true for an index of
// version 4, which abbreviates paths. It also does so for a split or sparse index, which has only some of the paths.
func (r *Repo) MayTrack(text string) bool {
	const begin, at = "DIRC\x00\x00\x00", 7 // the beginning of an index, and the place of the byte with its version
	index, err := ReadRegular(filepath.Join(r.Git, "index"), mayTrackBytes)
	if err != nil || len(index) <= at || len(index) == mayTrackBytes || string(index[:at]) != begin ||
		index[at] != 2 && index[at] != 3 {
		return true
	}
	for _, part := range []string{text, "link", "sdir"} { // a split index contains "link", a sparse one "sdir"
		if bytes.Contains(index, []byte(part)) {
			return true
		}
	}
	return false
}
