// Package pack reads, creates and stores packs. A pack is a signed file with newer reading rules
// for one harness. It contains nothing that Coleo types, starts or sends.
//
// A pack file has four lines and then a TOML text:
//
//	coleo pack 1
//	key: KEY
//	signature: SIGNATURE
//	(an empty line)
//	harness = "NAME"
//	...
//
// KEY and SIGNATURE are in base64. The signature is an Ed25519 signature of every byte of the file
// except the line of the signature. The signature also covers the first line, so it is valid only
// for a pack.
//
// Package reading, not package pack, combines a pack with built-in rules.
package pack

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"coleo.dev"
	"coleo.dev/config"
	"coleo.dev/harnesses/terminal/rules"
)

const (
	// MaxSize is the largest size of a pack file in bytes. The largest built-in description has a
	// fifth of this size.
	MaxSize = 256 << 10
	// maxVersions is the largest number of versions in a pack. It is small because somebody judges
	// the pack on each of them.
	maxVersions = 20

	firstLine     = "coleo pack 1\n"
	keyLine       = "key: "
	signatureLine = "signature: "
	headLines     = 4 // the lines before the TOML text
)

// harnessName and versionName match the values of the keys `harness` and `versions` of a pack. The name
// of a harness is also the name of a file, so it can contain no slash.
var (
	harnessName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)
	versionName = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z.+_-]{0,63}$`)
)

// Pack is the content of a pack file.
type Pack struct {
	Key      ed25519.PublicKey // the key that has signed the file
	Harness  string
	Versions []string // the versions of the agent CLI with which the rules were tested
	Serial   int64    // the number of the pack; higher for each new pack of the harness
	Expires  string   // the last day in UTC on which Coleo uses the pack, such as 2027-01-31
	Digest   string   // the SHA-256 of the file, in hex
	Rules    *rules.Pack
}

// content is the TOML text of a pack. An unknown key in it is an error.
type content struct {
	Harness  string   `toml:"harness"`
	Versions []string `toml:"versions"`
	Serial   int64    `toml:"serial"`
	Expires  string   `toml:"expires"`
	rules.Readings
}

// envelope is a pack file whose TOML text is not parsed yet.
type envelope struct {
	key       ed25519.PublicKey
	signature []byte
	signed    []byte // every byte of the file except the line of the signature
	body      []byte // the TOML text
}

// unwrap reads the first lines of a pack file. The error is EInvalid if the file is not
// a pack, is too large, or is not signed. unwrap does not verify the signature.
func unwrap(file string, data []byte) (envelope, error) {
	var e envelope
	if len(data) > MaxSize {
		return e, coleo.Errorf(coleo.EInvalid, "%s has more than %d bytes, so it was not read", file, MaxSize)
	}
	rest, is := bytes.CutPrefix(data, []byte(firstLine))
	if !is {
		return e, coleo.Errorf(coleo.EInvalid, "%s:1: this is not a pack: its first line is not %q", file,
			strings.TrimSpace(firstLine))
	}
	key, rest, err := takeLine(file, 2, keyLine, rest, ed25519.PublicKeySize)
	if err != nil {
		return e, err
	}
	signature, rest, err := takeLine(file, 3, signatureLine, rest, ed25519.SignatureSize)
	if err != nil {
		return e, err
	}
	if rest, is = bytes.CutPrefix(rest, []byte("\n")); !is {
		return e, coleo.Errorf(coleo.EInvalid, "%s:4: this line must be empty", file)
	}
	return envelope{key: key, signature: signature, signed: signedBytes(key, rest), body: rest}, nil
}

// takeLine reads the first line of data. The line must consist of the given name and a value of
// exactly `size` bytes, in base64. takeLine returns the value, and the data after the line.
func takeLine(file string, line int, name string, data []byte, size int) (value, rest []byte, err error) {
	text, rest, ended := bytes.Cut(data, []byte("\n"))
	coded, named := bytes.CutPrefix(text, []byte(name))
	if value, err = base64.StdEncoding.Strict().DecodeString(string(coded)); err != nil || !named || !ended ||
		len(value) != size || base64.StdEncoding.EncodeToString(value) != string(coded) {
		return nil, nil, coleo.Errorf(coleo.EInvalid,
			"%s:%d: the pack is not signed: this line must be %q and %d bytes in base64", file, line, name, size)
	}
	return value, rest, nil
}

// signedBytes returns the bytes that the signature of a pack covers.
func signedBytes(key ed25519.PublicKey, body []byte) []byte {
	return append([]byte(firstLine+keyLine+KeyText(key)+"\n\n"), body...)
}

// KeyText returns a public key in base64, the form that people and files use.
func KeyText(key ed25519.PublicKey) string { return base64.StdEncoding.EncodeToString(key) }

// verify returns EForbidden if the signature was not made with the key in the file.
func (e envelope) verify(file string) error {
	if !ed25519.Verify(e.key, e.signed, e.signature) {
		return coleo.Errorf(coleo.EForbidden,
			"%s: the signature is wrong: the file has changed since it was signed, or another key has signed it", file)
	}
	return nil
}

// read parses the TOML text. Its errors are EInvalid, and name the file and the line.
func (e envelope) read(file string, data []byte) (*Pack, error) {
	if i := bytes.IndexByte(e.body, 0); i >= 0 || !utf8.Valid(e.body) {
		return nil, coleo.Errorf(coleo.EInvalid, "%s: the text is not UTF-8, or it has a NUL byte", file)
	}
	// Empty lines in place of the head make the line numbers in errors right.
	text := append([]byte(strings.Repeat("\n", headLines)), e.body...)
	var c content
	if err := config.Decode(file, text, &c); err != nil {
		return nil, err
	}
	if err := c.check(file, text); err != nil {
		return nil, err
	}
	compiled, err := c.Compile(file, text)
	if err != nil {
		return nil, err
	}
	compiled.Serial, compiled.Versions = c.Serial, c.Versions
	sum := sha256.Sum256(data)
	return &Pack{Key: e.key, Harness: c.Harness, Versions: c.Versions, Serial: c.Serial, Expires: c.Expires,
		Digest: hex.EncodeToString(sum[:]), Rules: compiled}, nil
}

// check checks all keys of a pack except the rules.
func (c *content) check(file string, text []byte) error {
	fail := func(path, format string, args ...any) error { return config.Errorf(file, text, path, format, args...) }
	if !harnessName.MatchString(c.Harness) {
		return fail("harness", "harness = %.80q is not the name of a harness", c.Harness)
	}
	if n := len(c.Versions); n == 0 || n > maxVersions {
		return fail("versions", "versions has %d entries: name 1 to %d versions of the agent CLI", n, maxVersions)
	}
	for _, version := range c.Versions {
		if !versionName.MatchString(version) {
			return fail("versions", "%.80q is not a version of an agent CLI", version)
		}
	}
	if c.Serial < 1 {
		return fail("serial", "serial = %d is not a number from 1", c.Serial)
	}
	if _, err := time.Parse(time.DateOnly, c.Expires); err != nil {
		return fail("expires", "expires = %.80q is not a day such as \"2027-01-31\"", c.Expires)
	}
	return nil
}

// Expired returns EForbidden if the last day of the pack is over.
func (p *Pack) Expired(now time.Time) error {
	last, err := time.Parse(time.DateOnly, p.Expires)
	if err == nil && now.Before(last.AddDate(0, 0, 1)) {
		return nil
	}
	return coleo.Errorf(coleo.EForbidden, "the pack %d for %s has expired: its last day was %s", p.Serial, p.Harness,
		p.Expires)
}
