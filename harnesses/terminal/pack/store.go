package pack

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"coleo.dev"
	"coleo.dev/config"
	"coleo.dev/wholefile"
)

// pinnedKey is the signing key that every Coleo trusts, in base64. It is empty, because nobody
// signs packs for all users yet. So Coleo accepts only the keys that the user trusts.
const pinnedKey = ""

const (
	packEnd   = ".pack"
	serialEnd = ".serial"
	keysFile  = "trusted-keys"
	// maxTrusted is the largest size in bytes of the file with the trusted keys: enough for a
	// thousand keys.
	maxTrusted = 64 << 10
)

// Store is a folder with installed packs. For each harness, it contains the pack and the highest
// serial that was ever installed. It also contains the keys that the user trusts. Only one caller
// at a time may change a Store.
type Store struct{ dir string }

// NewStore returns the Store in a folder. The folder need not exist.
func NewStore(dir string) Store { return Store{dir} }

// Dir returns the folder of the Store.
func (s Store) Dir() string { return s.dir }

// Prepare creates the folder of the Store if it does not exist. Only the owner can use the folder.
func (s Store) Prepare() error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return fmt.Errorf("make the folder of packs: %w", err)
	}
	return nil
}

// readFile reads a file of the Store. It refuses a link, a file that others can write, and a file
// with more than maxBytes bytes.
func (s Store) readFile(name string, maxBytes int64) ([]byte, error) {
	path := filepath.Join(s.dir, name)
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, coleo.Errorf(coleo.EForbidden, "%s is not a regular file, so it was not read: remove it", path)
	}
	return config.ReadOwnAtMost(path, maxBytes)
}

// Trusted returns the signing keys that the user trusts, and pinnedKey if there is one.
func (s Store) Trusted() ([]ed25519.PublicKey, error) {
	data, err := s.readFile(keysFile, maxTrusted)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the trusted keys: %w", err)
	}
	var out []ed25519.PublicKey
	for _, line := range append(strings.Fields(string(data)), strings.Fields(pinnedKey)...) {
		key, err := base64.StdEncoding.Strict().DecodeString(line)
		if err != nil || len(key) != ed25519.PublicKeySize {
			return nil, coleo.Errorf(coleo.EInvalid, "%s: %.80q is not a key", filepath.Join(s.dir, keysFile), line)
		}
		out = append(out, key)
	}
	return out, nil
}

// Trust adds a signing key to the trusted keys. It does nothing if the key is trusted already.
func (s Store) Trust(key ed25519.PublicKey) error {
	keys, err := s.Trusted()
	if err != nil || contains(keys, key) {
		return err
	}
	return s.writeKeys(append(keys, key))
}

// Distrust removes a signing key from the trusted keys, so that Coleo no longer uses packs with its
// signature. The error is ENotFound if the key is not trusted.
func (s Store) Distrust(key ed25519.PublicKey) error {
	keys, err := s.Trusted()
	if err != nil {
		return err
	}
	if !contains(keys, key) {
		return coleo.Errorf(coleo.ENotFound, "the key %s is not trusted here", KeyText(key))
	}
	return s.writeKeys(slices.DeleteFunc(keys, func(k ed25519.PublicKey) bool { return k.Equal(key) }))
}

func (s Store) writeKeys(keys []ed25519.PublicKey) error {
	var b strings.Builder
	for _, key := range keys {
		if text := KeyText(key); text != pinnedKey {
			b.WriteString(text + "\n")
		}
	}
	return s.replace(keysFile, []byte(b.String()))
}

func contains(keys []ed25519.PublicKey, key ed25519.PublicKey) bool {
	return slices.ContainsFunc(keys, func(k ed25519.PublicKey) bool { return k.Equal(key) })
}

// checkTrusted returns EForbidden if the user does not trust a key.
func (s Store) checkTrusted(key ed25519.PublicKey) error {
	keys, err := s.Trusted()
	if err == nil && !contains(keys, key) {
		err = coleo.Errorf(coleo.EForbidden, "the pack is signed by %s, and that key is not trusted here: "+
			"'coleo harness pack trust FILE' trusts it", KeyText(key))
	}
	return err
}

// mark is the highest serial that was ever installed for a harness, and the digest of
// the pack with that serial.
type mark struct {
	serial int64
	digest string
}

// markOf reads the highest serial that was ever installed for a harness, and the digest of the pack with
// that serial. It returns the zero value if no pack was ever installed for the harness.
func (s Store) markOf(harness string) (mark, error) {
	var m mark
	data, err := s.readFile(harness+serialEnd, maxKeyFile)
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err != nil {
		return m, fmt.Errorf("read the highest serial of %s: %w", harness, err)
	}
	if n, err := fmt.Sscanf(string(data), "%d %64s\n", &m.serial, &m.digest); n != 2 || err != nil || m.serial < 1 {
		return m, coleo.Errorf(coleo.EInvalid, "%s does not hold a serial: no pack for %s is used or added",
			filepath.Join(s.dir, harness+serialEnd), harness)
	}
	return m, nil
}

// checkNewer returns EForbidden if a pack with a higher serial was installed before, or a different pack
// with the same serial.
func (s Store) checkNewer(p *Pack) error {
	m, err := s.markOf(p.Harness)
	switch {
	case err != nil:
		return err
	case p.Serial < m.serial:
		return coleo.Errorf(coleo.EForbidden, "the pack for %s has the serial %d, and the pack %d was installed here: "+
			"an older pack is never installed", p.Harness, p.Serial, m.serial)
	case p.Serial == m.serial && p.Digest != m.digest:
		return coleo.Errorf(coleo.EForbidden,
			"another pack for %s with the serial %d was installed here: a changed pack needs a higher serial",
			p.Harness, p.Serial)
	}
	return nil
}

// Problems returns the reasons why the Store cannot install a pack at the given time. It does not
// return the problems of the file itself, which Check finds.
func (s Store) Problems(p *Pack, now time.Time) []error {
	var out []error
	for _, err := range []error{s.checkTrusted(p.Key), s.checkNewer(p), p.Expired(now)} {
		if err != nil {
			out = append(out, err)
		}
	}
	return out
}

// Add installs a pack. Before it changes anything, it passes the pack to the function `accept`. If the
// pack has a problem, or if `accept` returns an error, the installed pack does not change. The folder
// of the Store must exist.
func (s Store) Add(file string, data []byte, now time.Time, accept func(*Pack) error) (*Pack, error) {
	e, err := unwrap(file, data)
	if err != nil {
		return nil, err
	}
	for _, err := range []error{e.verify(file), s.checkTrusted(e.key)} {
		if err != nil {
			return nil, err
		}
	}
	p, err := e.read(file, data)
	if err != nil {
		return nil, err
	}
	m, err := s.noteInstalled(p.Harness, now)
	if err != nil {
		return nil, err
	}
	if problems := s.Problems(p, now); len(problems) > 0 {
		return nil, problems[0]
	}
	if err := accept(p); err != nil {
		return nil, err
	}
	// Coleo uses no pack whose serial is lower than the stored serial. So the earlier pack must be replaced
	// before the new serial is stored. Coleo also uses no pack if no serial is stored. So the serial of a
	// harness's first pack must be stored before the pack.
	if m.serial == 0 {
		if err := s.writeMark(p); err != nil {
			return nil, err
		}
	}
	if err := s.replace(p.Harness+packEnd, data); err != nil {
		return nil, err
	}
	if m.serial > 0 {
		_ = s.writeMark(p) // the pack is installed; after an error, noteInstalled writes the serial
	}
	return p, nil
}

// noteInstalled writes the serial of the installed pack if Add was killed after it had written the pack. It returns
// the highest serial that was ever installed.
func (s Store) noteInstalled(harness string, now time.Time) (mark, error) {
	m, err := s.markOf(harness)
	if err != nil || m.serial == 0 {
		return mark{}, err
	}
	p, _ := s.load(harness, now) // if the pack is not used, its serial can still be the highest
	if p == nil || p.Harness != harness || p.Serial <= m.serial {
		return m, nil
	}
	return mark{p.Serial, p.Digest}, s.writeMark(p)
}

// writeMark writes the serial and the digest of a pack.
func (s Store) writeMark(p *Pack) error {
	return s.replace(p.Harness+serialEnd, fmt.Appendf(nil, "%d %s\n", p.Serial, p.Digest))
}

// Remove removes the pack of a harness, but keeps the highest serial. The error is ENotFound if
// there is no pack.
func (s Store) Remove(harness string) error {
	if !harnessName.MatchString(harness) {
		return coleo.Errorf(coleo.EInvalid, "%.80q is not the name of a harness", harness)
	}
	// If the serial is unreadable, remove the pack nevertheless: no pack is added while the serial is
	// unreadable.
	if m, err := s.noteInstalled(harness, time.Now()); err != nil && m.serial > 0 {
		return err
	}
	err := os.Remove(filepath.Join(s.dir, harness+packEnd))
	if errors.Is(err, fs.ErrNotExist) {
		return coleo.Errorf(coleo.ENotFound, "no pack for %s is installed", harness)
	}
	if err != nil {
		return fmt.Errorf("remove the pack for %s: %w", harness, err)
	}
	return nil
}

// replace writes a file of the Store completely, or changes nothing. Only the owner can read the
// file.
func (s Store) replace(name string, data []byte) error {
	return wholefile.Replace(filepath.Join(s.dir, name), data, wholefile.OwnerOnly)
}
