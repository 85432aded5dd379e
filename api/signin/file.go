package signin

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"coleo.dev/wholefile"
	"coleo.dev/wire"
)

// kept is the content of the file. The file contains no secrets: for each browser, it contains only
// the hash of the cookie's secret and the public key.
type kept struct {
	Origin   string        `json:"origin"`
	Browsers []keptBrowser `json:"browsers"`
}

type keptBrowser struct {
	wire.Browser
	SecretHash []byte `json:"secret"` // the SHA-256 of the secret in the cookie
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

// save replaces the whole file, which only its owner can read. If save fails, the file is
// unchanged. save waits until the data is on the disk, because otherwise a power failure could undo
// a sign-out.
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
		err = wholefile.Replace(b.path, raw, wholefile.OwnerOnly)
	}
	if err != nil {
		return fmt.Errorf("write which browsers are signed in: %w", err)
	}
	for _, one := range b.known {
		one.saved = one.Used
	}
	return nil
}
