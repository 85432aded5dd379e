package signin

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// kept is the content of the file. The file contains no secrets. It contains only the hash of each
// cookie's secret, and the public key of each browser.
type kept struct {
	Origin   string        `json:"origin"`
	Browsers []keptBrowser `json:"browsers"`
}

type keptBrowser struct {
	Browser
	SecretHash []byte `json:"secret"` // SHA-256 of the cookie's secret
	Key        []byte `json:"key"`
}

func (b *Browsers) load() error {
	if b.path == "" {
		return nil
	}
	raw, err := os.ReadFile(b.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read which browsers are signed in: %w", err)
	}
	var file kept
	if err := json.Unmarshal(raw, &file); err != nil {
		return fmt.Errorf("read the list of signed-in browsers in %s: %w", b.path, err)
	}
	if file.Origin != b.origin {
		return b.save()
	}
	for _, k := range file.Browsers {
		key, err := parseKey(k.Key)
		if err != nil {
			return fmt.Errorf("read the list of signed-in browsers in %s: %w", b.path, err)
		}
		b.known[k.ID] = newBrowser(k.Browser, k.SecretHash, key)
	}
	b.dropIdle()
	return nil
}

// save writes the file, which only its owner can read. It either replaces the whole file or changes
// nothing. It waits until the data is on the disk, because otherwise a power failure could undo a
// sign-out.
func (b *Browsers) save() error {
	if b.path == "" {
		return nil
	}
	file := kept{Origin: b.origin, Browsers: []keptBrowser{}}
	for _, one := range b.known {
		key, err := one.key.Bytes()
		if err != nil {
			return fmt.Errorf("write which browsers are signed in: %w", err)
		}
		file.Browsers = append(file.Browsers, keptBrowser{Browser: one.Browser, SecretHash: one.secretHash, Key: key})
	}
	raw, err := json.Marshal(file)
	if err == nil {
		err = WriteFile(b.path, raw)
	}
	if err != nil {
		return fmt.Errorf("write which browsers are signed in: %w", err)
	}
	for _, one := range b.known {
		one.saved = one.Used
	}
	return nil
}

// WriteFile writes a file that only its owner can read (mode 0600). It either replaces
// the whole file or changes nothing. After WriteFile has returned nil, the data is on
// the disk.
func WriteFile(path string, data []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // 0600
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(data)
	if err = errors.Join(err, tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
