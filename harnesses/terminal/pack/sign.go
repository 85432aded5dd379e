package pack

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"coleo.dev"
	"coleo.dev/config"
	"coleo.dev/harnesses/terminal/rules"
	"coleo.dev/wholefile"
)

const (
	privateLine = "coleo pack private key 1 "
	publicLine  = "coleo pack key 1 "
	// maxKeyFile is the largest size in bytes of a file with a key. Such a file has only one line.
	maxKeyFile = 4 << 10
)

// NewKey creates a key pair. It writes the private key to the file `path`, and only the owner can read
// this file. It writes the public key to a second file, whose name ends with ".pub". NewKey never
// overwrites a file.
func NewKey(path string) (ed25519.PublicKey, error) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	private64 := base64.StdEncoding.EncodeToString(private.Seed())
	if err := create(path, 0o600, privateLine+private64+"\n"); err != nil {
		return nil, err
	}
	if err := create(path+".pub", 0o644, publicLine+KeyText(public)+"\n"); err != nil {
		_ = os.Remove(path)
		return nil, err
	}
	return public, nil
}

// create creates a file. The error is EConflict if the file already exists.
func create(path string, mode fs.FileMode, text string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if os.IsExist(err) {
		return coleo.Errorf(coleo.EConflict, "%s is there already, and no key is overwritten: name another file", path)
	}
	if err != nil {
		return fmt.Errorf("write a key: %w", err)
	}
	_, err = f.WriteString(text)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("write a key: %w", err)
	}
	return nil
}

// readPrivateKey reads a private key from a file that NewKey has written. It refuses a file that
// others can read.
func readPrivateKey(path string) (ed25519.PrivateKey, error) {
	data, err := config.ReadOwnAtMost(path, maxKeyFile)
	if err != nil {
		return nil, fmt.Errorf("read the key: %w", err)
	}
	if info, err := os.Stat(path); err != nil || wholefile.OpenToOthers(info.Mode()) {
		return nil, coleo.Errorf(coleo.EForbidden, "others can read the private key %s: 'chmod 600 %s'", path, path)
	}
	seed, err := keyIn(data, privateLine, ed25519.SeedSize)
	if err != nil {
		return nil, coleo.Errorf(coleo.EInvalid, "%s is not a private key of 'coleo harness pack keygen'", path)
	}
	return ed25519.NewKeyFromSeed(seed), nil
}

// ReadPublicKey reads a public key from a file that NewKey has written. It refuses a file that
// others can write.
func ReadPublicKey(path string) (ed25519.PublicKey, error) {
	data, err := config.ReadOwnAtMost(path, maxKeyFile)
	if err != nil {
		return nil, fmt.Errorf("read the key: %w", err)
	}
	if bytes.HasPrefix(data, []byte(privateLine)) {
		return nil, coleo.Errorf(coleo.EInvalid, "%s is a private key: name %s.pub", path, path)
	}
	key, err := keyIn(data, publicLine, ed25519.PublicKeySize)
	if err != nil {
		return nil, coleo.Errorf(coleo.EInvalid, "%s is not a public key of 'coleo harness pack keygen'", path)
	}
	return key, nil
}

// keyIn returns the key in data. The data must consist of the given line and a key of keySize bytes
// in base64. A line end may follow.
func keyIn(data []byte, line string, keySize int) ([]byte, error) {
	coded, is := strings.CutPrefix(string(data), line)
	key, err := base64.StdEncoding.Strict().DecodeString(strings.TrimSuffix(coded, "\n"))
	if err != nil || !is || len(key) != keySize {
		return nil, coleo.Errorf(coleo.EInvalid, "this is not a key")
	}
	return key, nil
}

// Order describes the pack that Make creates.
type Order struct {
	Harness  string
	Versions []string
	Serial   int64
	Expires  string
	File     string // the name of the file with the rules, for error messages
	Rules    []byte // the text of the file with the rules; it may contain only rules, dialogs and a composer
}

// Make returns a pack that is signed with the key in keyFile. The error is EInvalid if the rules
// have a key that a pack cannot have. Such an error names the file and the line.
func Make(keyFile string, o Order, now time.Time) ([]byte, error) {
	key, err := readPrivateKey(keyFile)
	if err != nil {
		return nil, err
	}
	if len(o.Rules) > MaxSize {
		return nil, coleo.Errorf(coleo.EInvalid, "%s has more than %d bytes", o.File, MaxSize)
	}
	var readings rules.Readings
	if err := config.Decode(o.File, o.Rules, &readings); err != nil {
		return nil, err
	}
	if _, err := readings.Compile(o.File, o.Rules); err != nil {
		return nil, err
	}
	body := fmt.Appendf(nil, "harness = %q\nversions = [%s]\nserial = %d\nexpires = %q\n\n", o.Harness,
		quoted(o.Versions), o.Serial, o.Expires)
	data := seal(key, append(body, o.Rules...))
	p, problems := Check("the new pack", data)
	if len(problems) == 0 {
		if err := p.Expired(now); err != nil {
			problems = append(problems, err)
		}
	}
	if len(problems) > 0 {
		return nil, problems[0]
	}
	return data, nil
}

// seal returns a signed pack file. The parameter `body` is the TOML text of the pack.
func seal(key ed25519.PrivateKey, body []byte) []byte {
	public, _ := key.Public().(ed25519.PublicKey) // the documentation of ed25519 promises this type
	signature := ed25519.Sign(key, signedBytes(public, body))
	head := firstLine + keyLine + KeyText(public) + "\n" + signatureLine +
		base64.StdEncoding.EncodeToString(signature) + "\n\n"
	return append([]byte(head), body...)
}

// quoted returns the texts as elements of a TOML list.
func quoted(texts []string) string {
	var out []string
	for _, text := range texts {
		out = append(out, fmt.Sprintf("%q", text))
	}
	return strings.Join(out, ", ")
}

// Check reads a pack so that a person can examine it. It returns the pack, and every problem of the
// file itself. If it cannot read the pack, the pack is nil. It does not find problems that depend
// on a Store: an untrusted key, a serial that is too low, or an expired pack. See Store.Problems
// for these.
func Check(file string, data []byte) (*Pack, []error) {
	e, err := unwrap(file, data)
	if err != nil {
		return nil, []error{err}
	}
	var problems []error
	if err := e.verify(file); err != nil {
		problems = append(problems, err)
	}
	p, err := e.read(file, data)
	if err != nil {
		problems = append(problems, err)
	}
	return p, problems
}
