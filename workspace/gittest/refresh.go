package gittest

import (
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Refresh gives the index of a copied work folder the times of the copied files.
func (s *Stage) Refresh(work string) {
	s.Helper()
	if !refresh(work) {
		s.Git(work, "update-index", "-q", "--refresh")
	}
}

// refresh does what git update-index --refresh does, without a start of git. It returns false, and changes nothing,
// if only git can do it: if the index is not an ordinary one, or if attributes can change the content of files.
func refresh(work string) bool {
	const head, fields, idAt, flags, align = 12, 40, 40, 2, 8 // see gitformat-index(5)
	path := filepath.Join(gitFolder(work), "index")
	index, err := os.ReadFile(path)
	if err != nil || len(index) < head+sha1.Size || !bytes.HasPrefix(index, []byte("DIRC\x00\x00\x00\x02")) {
		return false
	}
	rest := index[head : len(index)-sha1.Size]
	for range binary.BigEndian.Uint32(index[8:]) {
		begin := idAt + sha1.Size + flags
		if len(rest) < begin || rest[begin-flags]&0xf0 != 0 { // the flags say more than the length of the name
			return false
		}
		end := bytes.IndexByte(rest[begin:], 0)
		if end < 0 {
			return false
		}
		entry := rest[:begin+end]
		name := string(entry[begin:])
		if filepath.Base(name) == ".gitattributes" {
			return false
		}
		refreshEntry(filepath.Join(work, name), entry[:fields], entry[idAt:begin-flags])
		size := len(entry) + align - len(entry)%align
		rest = rest[size:]
	}
	sum := sha1.Sum(index[:len(index)-sha1.Size])
	copy(index[len(index)-sha1.Size:], sum[:])
	return os.WriteFile(path, index, 0o644) == nil
}

// refreshEntry writes what the system says about the file at path into the fields of an entry. If the file does not
// have the content with the given id, or has another mode than the entry, the fields fit no file.
func refreshEntry(path string, entry, id []byte) {
	wanted := binary.BigEndian.Uint32(entry[24:])
	clear(entry)
	binary.BigEndian.PutUint32(entry[24:], wanted)
	var about unix.Stat_t
	if unix.Lstat(path, &about) != nil {
		return
	}
	mode, content, err := uint32(unix.S_IFREG|0o644), []byte(nil), error(nil)
	switch about.Mode & unix.S_IFMT {
	case unix.S_IFLNK:
		target, readErr := os.Readlink(path)
		mode, content, err = unix.S_IFLNK, []byte(target), readErr
	case unix.S_IFREG:
		if about.Mode&0o100 != 0 {
			mode |= 0o111
		}
		content, err = os.ReadFile(path)
	default:
		return
	}
	sum := sha1.Sum(append(fmt.Appendf(nil, "blob %d\x00", len(content)), content...))
	if err != nil || !bytes.Equal(sum[:], id) || wanted != mode {
		return
	}
	for i, v := range []uint32{uint32(about.Ctim.Sec), uint32(about.Ctim.Nsec), uint32(about.Mtim.Sec),
		uint32(about.Mtim.Nsec), uint32(about.Dev), uint32(about.Ino), mode, about.Uid, about.Gid, uint32(about.Size)} {
		binary.BigEndian.PutUint32(entry[4*i:], v)
	}
}
