package signin

import (
	"context"
	"crypto/ecdsa"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math/big"
	"strconv"
	"strings"
	"time"
)

// These constants are the limits of nonces.
const (
	nonceLife = 10 * time.Minute
	maxUses   = 4096 // the largest number of requests that can use one nonce
	nonceSize = 40   // in bytes: 8 for the time, 16 random ones, and 16 for the authentication code
	sigSize   = 64   // the size of a signature in bytes: r and s have 32 each
)

// These are the errors of Check. After such an error, the page asks for a new nonce and repeats the
// request once.
var (
	errNoProof = errors.New("the signature has the wrong form: want a nonce, " +
		"a number and a signature with dots between")
	errNonce  = errors.New("the nonce is too old, or was made by another process of serve")
	errUsed   = errors.New("the nonce and the number were used before, or the number is too high")
	errForged = errors.New("the signature does not match this request and this browser's key")
	errCookie = errors.New("the cookie does not belong to a browser that is signed in")
)

// Request contains the parts of a request that the signature covers.
type Request struct {
	Method string
	URI    string // the path and the query, as the client sent them
	Body   []byte
}

// Pass is the permission for one request of a signed-in browser.
type Pass struct {
	ID   string          // the id of the browser
	Live context.Context // ends when the browser is signed out
}

// uses contains the numbers of the requests that have used one nonce.
type uses struct {
	until time.Duration // when the nonce expires, as a duration since the start of this process
	seen  [maxUses / 64]uint64
}

// Nonce returns a new nonce for the browser with the given cookie, and the lifetime of the nonce.
// Nonce stores nothing: the nonce itself proves when and for which browser this process created it.
// Nonce returns an error if the cookie is not valid.
func (b *Browsers) Nonce(cookie string) (string, time.Duration, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	one := b.find(cookie)
	if one == nil {
		return "", 0, errCookie
	}
	raw := make([]byte, 24, nonceSize)
	binary.BigEndian.PutUint64(raw, uint64((b.now().Sub(b.began) + nonceLife).Milliseconds()))
	_, _ = rand.Read(raw[8:])
	raw = append(raw, b.authCode(one, raw)...)
	return base64.RawURLEncoding.EncodeToString(raw), nonceLife, nil
}

// authCode returns the authentication code for a nonce of the given browser. Only this
// process can compute it.
func (b *Browsers) authCode(of *browser, nonce []byte) []byte {
	mac := hmac.New(sha256.New, b.processKey[:])
	mac.Write(nonce)
	mac.Write([]byte(of.ID))
	return mac.Sum(nil)[:nonceSize-24]
}

// Check checks that a request comes from the browser with the given cookie. A proof has the form
// "nonce.number.signature". Each number can be used only once with the same nonce. If the cookie or
// the proof is not valid, Check returns an error, and the caller must refuse the request.
func (b *Browsers) Check(cookie, proof string, r Request) (Pass, error) {
	nonce, number, signature, err := splitProof(proof)
	if err != nil {
		return Pass{}, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	one := b.find(cookie)
	if one == nil {
		return Pass{}, errCookie
	}
	until, err := b.nonceExpiry(one, nonce)
	if err != nil {
		return Pass{}, err
	}
	if !isSigned(one.key, b.signedText(nonce, number, r), signature) {
		return Pass{}, errForged
	}
	if !b.useNumber(one, nonce, number, until) {
		return Pass{}, errUsed
	}
	b.noteUse(one)
	return Pass{ID: one.ID, Live: one.live}, nil
}

func splitProof(proof string) (nonce string, number uint64, signature []byte, err error) {
	nonce, rest, _ := strings.Cut(proof, ".")
	digits, encoded, _ := strings.Cut(rest, ".")
	number, err = strconv.ParseUint(digits, 10, 32)
	if err != nil || digits != strconv.FormatUint(number, 10) {
		return "", 0, nil, errNoProof
	}
	signature, err = base64.RawURLEncoding.Strict().DecodeString(encoded)
	if err != nil || len(signature) != sigSize {
		return "", 0, nil, errNoProof
	}
	return nonce, number, signature, nil
}

// nonceExpiry returns when a nonce expires, as a duration since the start of this process. It
// returns an error if the nonce has expired, or was not created by this process for this browser.
func (b *Browsers) nonceExpiry(of *browser, nonce string) (time.Duration, error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(nonce)
	if err != nil || len(raw) != nonceSize || !hmac.Equal(raw[24:], b.authCode(of, raw[:24])) {
		return 0, errNonce
	}
	until := time.Duration(binary.BigEndian.Uint64(raw)) * time.Millisecond
	if b.now().Sub(b.began) >= until {
		return 0, errNonce
	}
	return until, nil
}

// signedText returns the text that a browser signs. The function in web/static/key.js must
// build the same text.
func (b *Browsers) signedText(nonce string, number uint64, r Request) []byte {
	body := sha256.Sum256(r.Body)
	return []byte(strings.Join([]string{
		"coleo request 1", b.origin, r.Method, r.URI, nonce, strconv.FormatUint(number, 10),
		hex.EncodeToString(body[:]),
	}, "\n"))
}

// isSigned reports whether a signature is valid. The signature has the format of
// WebCrypto: r and s, 32 bytes each.
func isSigned(key *ecdsa.PublicKey, message, signature []byte) bool {
	hash := sha256.Sum256(message)
	r, s := new(big.Int).SetBytes(signature[:sigSize/2]), new(big.Int).SetBytes(signature[sigSize/2:])
	return ecdsa.Verify(key, hash[:], r, s)
}

// useNumber marks a number as used with a nonce. It returns false if the number is too high or is already used.
// Check verifies the signature before it calls useNumber. So only a signed-in browser can fill the memory with
// numbers.
func (b *Browsers) useNumber(one *browser, nonce string, number uint64, until time.Duration) bool {
	if number >= maxUses {
		return false
	}
	u, ok := one.nonces[nonce]
	if !ok {
		for old, u := range one.nonces {
			if b.now().Sub(b.began) >= u.until {
				delete(one.nonces, old)
			}
		}
		u = &uses{until: until}
		one.nonces[nonce] = u
	}
	bit := uint64(1) << (number % 64)
	if u.seen[number/64]&bit != 0 {
		return false
	}
	u.seen[number/64] |= bit
	return true
}

// noteUse updates the time at which a browser was last used. If the time cannot be saved, a later
// process of serve may sign the browser out too early.
func (b *Browsers) noteUse(one *browser) {
	one.Used = b.now()
	if one.Used.Sub(one.saved) > saveEvery {
		_ = b.save()
	}
}
