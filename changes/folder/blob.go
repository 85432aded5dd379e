package folder

import (
	"bytes"
	"compress/zlib"
	"crypto/rand"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// store writes the bytes of files as objects of the repository.
//
// Coleo does not let git write these objects, because git would first run the user's filters. Git would also
// follow a symbolic link that an arm puts in the file's place in the meantime.
type store struct {
	objects *os.Root
	format  string
}

// object returns the header of a git object: its kind and its size in bytes.
func object(size int64) string { return fmt.Sprintf("blob %d\x00", size) }

func (s store) hash() hash.Hash {
	if s.format == "sha256" {
		return sha256.New()
	}
	return sha1.New() // #nosec: git's object format requires SHA-1
}

// storeText stores a text and returns the id of its object. If the repository already contains the
// object, storeText only gives it the present time. Otherwise a git gc that runs now could delete it.
func (s store) storeText(text []byte) (id string, err error) {
	h := s.hash()
	h.Write([]byte(object(int64(len(text)))))
	h.Write(text)
	id = hex.EncodeToString(h.Sum(nil))
	path := filepath.Join(id[:2], id[2:])
	if now := time.Now(); s.objects.Chtimes(path, now, now) == nil {
		return id, nil
	}
	if err := s.objects.Mkdir(id[:2], 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	var packed bytes.Buffer
	z, err := zlib.NewWriterLevel(&packed, zlib.BestSpeed)
	if err != nil {
		return "", err
	}
	_, _ = io.WriteString(z, object(int64(len(text))))
	_, _ = z.Write(text)
	if err := z.Close(); err != nil {
		return "", err
	}
	draft := filepath.Join(id[:2], "tmp_obj_"+rand.Text()) // after a kill, git gc deletes a file with this prefix
	if err := writeNew(s.objects, draft, &packed, 0o444); err != nil {
		return "", err
	}
	return id, s.objects.Rename(draft, path)
}

// writeNew writes a file that must not exist yet. After an error, it removes what it has written.
func writeNew(root *os.Root, name string, content io.Reader, mode os.FileMode) error {
	file, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(err, root.Remove(name))
	}
	return nil
}

// errChanged is the error for a file that was replaced while it was read.
var errChanged = errors.New("it changed while it was read")

// errTooLarge is the error for a file that has grown since its size was checked.
var errTooLarge = fmt.Errorf("it is larger than %d MB", MaxKeptFile>>20)

// readFile reads the file `name` if it is still the file that `info` describes. It follows no symbolic link. It returns
// an error if the file exceeds MaxKeptFile, so that no checkpoint contains a part of a file.
func readFile(root *os.Root, name string, info fs.FileInfo) ([]byte, error) {
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if now, err := file.Stat(); err != nil || !os.SameFile(now, info) {
		return nil, errors.Join(err, errChanged)
	}
	text, err := io.ReadAll(io.LimitReader(file, MaxKeptFile+1))
	if err == nil && len(text) > MaxKeptFile {
		return nil, errTooLarge
	}
	return text, err
}
