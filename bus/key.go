package bus

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"coleo.dev"
	"coleo.dev/wholefile"
)

// Key is the private key of a client of the bus. The server sends a random challenge, and the
// client proves with a signature of the challenge that it has the key. The client never sends the
// key itself.
type Key struct {
	pair   nkeys.KeyPair
	public string
}

// NewKey returns a new random key.
func NewKey() (Key, error) {
	pair, err := nkeys.CreateUser()
	if err != nil {
		return Key{}, fmt.Errorf("draw a key for the bus: %w", err)
	}
	return keyOf(pair)
}

func keyOf(pair nkeys.KeyPair) (Key, error) {
	public, err := pair.PublicKey()
	if err != nil {
		return Key{}, fmt.Errorf("read a key of the bus: %w", err)
	}
	return Key{pair: pair, public: public}, nil
}

// KeyFile reads a key from a file that only its owner can read (mode 0600). If the file does not
// exist, KeyFile creates the file with a new key. It returns EForbidden if the file's mode gives
// rights to other users, and EInvalid if the file does not contain a key.
func KeyFile(path string) (Key, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return makeKeyFile(path)
	}
	if err != nil {
		return Key{}, fmt.Errorf("read the bus's key: %w", err)
	}
	if !info.Mode().IsRegular() || wholefile.OpenToOthers(info.Mode()) {
		return Key{}, coleo.Errorf(coleo.EForbidden,
			"the bus's key %s is open to other users (mode %v): delete it, then run 'coleo down' and 'coleo up'",
			path, info.Mode())
	}
	seed, err := os.ReadFile(path)
	if err != nil {
		return Key{}, fmt.Errorf("read the bus's key: %w", err)
	}
	pair, err := nkeys.FromSeed(bytes.TrimSpace(seed))
	if err != nil {
		return Key{}, coleo.Errorf(coleo.EInvalid,
			"%s holds no key: delete it, then run 'coleo down' and 'coleo up'", path)
	}
	return keyOf(pair)
}

// makeKeyFile creates a key file with a new key. If another process creates the file first,
// makeKeyFile returns the key in that file.
func makeKeyFile(path string) (Key, error) {
	key, err := NewKey()
	if err != nil {
		return Key{}, err
	}
	seed, err := key.pair.Seed()
	if err != nil {
		return Key{}, fmt.Errorf("write the bus's key: %w", err)
	}
	// CreateTemp creates the file with mode 0600
	whole, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return Key{}, fmt.Errorf("write the bus's key: %w", err)
	}
	defer os.Remove(whole.Name())
	_, err = whole.Write(append(seed, '\n'))
	if err := errors.Join(err, whole.Close()); err != nil {
		return Key{}, fmt.Errorf("write the bus's key: %w", err)
	}
	if err := os.Link(whole.Name(), path); errors.Is(err, fs.ErrExist) {
		return KeyFile(path)
	} else if err != nil {
		return Key{}, fmt.Errorf("write the bus's key: %w", err)
	}
	return key, nil
}

// Public returns the public half of the key. The server needs only this half.
func (k Key) Public() string { return k.public }

// sign returns the NATS option with which a client signs the server's challenge.
func (k Key) sign() nats.Option { return nats.Nkey(k.public, k.pair.Sign) }
