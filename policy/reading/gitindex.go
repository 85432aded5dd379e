package reading

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
)

// This file reads git's index.

const (
	// largestIndex is the largest size of a git index that is read, in bytes. The index of a repository with
	// 100,000 files has about 10 megabytes.
	largestIndex = 1 << 26
	// indexHead is the size of the index's header, in bytes. indexEntry is the size of an entry before its
	// name.
	indexHead, indexEntry = 12, 62
	// indexStep is the alignment of the entries, in bytes: the size of each entry is a multiple of indexStep.
	indexStep = 8
)

// indexedPaths returns the paths of the files in git's index, relative to the top of the work tree. If the
// repository has no index, indexedPaths returns an empty map.
func (w Workspace) indexedPaths(repository string) (map[string]bool, error) {
	path := filepath.Join(repository, "index")
	data, err := w.Machine.Part(path, 0, largestIndex)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	unknown := fmt.Errorf("%s has an unknown form", path)
	if len(data) < indexHead || string(data[:7]) != "DIRC\x00\x00\x00" || data[7] != 2 && data[7] != 3 {
		return nil, unknown
	}
	out := map[string]bool{}
	rest := data[indexHead:]
	for range binary.BigEndian.Uint32(data[8:]) {
		if len(rest) < indexEntry+indexStep {
			return nil, unknown
		}
		begin := indexEntry
		const hasMoreFlags = 0x40
		if rest[indexEntry-2]&hasMoreFlags != 0 {
			begin += 2
		}
		length := bytes.IndexByte(rest[begin:], 0)
		size := (begin + length + indexStep) / indexStep * indexStep
		if length <= 0 || size > len(rest) {
			return nil, unknown
		}
		const ofMode, isFile, isLink = 26, 0x80, 0xa0
		if kind := rest[ofMode] & 0xf0; kind == isFile || kind == isLink {
			out[string(rest[begin:begin+length])] = true
		}
		rest = rest[size:]
	}
	return out, nil
}

// inIndex reports whether git's index contains the file at `path`. The path is relative to `dir`. Links in
// `path` are not followed, because the index contains a linked file only under its real path.
func (w Workspace) inIndex(dir, path string) (bool, error) {
	resolved, err := w.readable(dir, ".")
	if err != nil {
		return false, err
	}
	repository, err := w.repositoryOf(dir)
	if err != nil {
		return false, err
	}
	names, err := w.indexedPaths(repository)
	below, isBelow := strings.CutPrefix(filepath.Join(resolved, path), filepath.Dir(repository)+"/")
	return isBelow && names[below], err
}

// checkAllAttributes refuses a repository in which a list of attributes (.gitattributes) is not a plain file.
// Git reads the list in each folder in which a shown commit changes a file. The check covers only the folders
// that contain files of the index.
func (w Workspace) checkAllAttributes(dir string) error {
	repository, err := w.repositoryOf(dir)
	if err != nil {
		return err
	}
	names, err := w.indexedPaths(repository)
	if err != nil {
		return err
	}
	folders := map[string]bool{}
	for name := range names {
		for at := filepath.Dir(name); at != "." && !folders[at]; at = filepath.Dir(at) {
			folders[at] = true
		}
	}
	for folder := range folders {
		if err := w.plainOrMissing(filepath.Join(filepath.Dir(repository), folder, ".gitattributes")); err != nil {
			return err
		}
	}
	return nil
}
