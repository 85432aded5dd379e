// Package signin stores which browsers are allowed to use the dashboard, and checks
// whether a request comes from one of them. A browser proves its identity with two
// things: a cookie, and a signature with a key that cannot leave the browser. The
// package does not use HTTP, and does not know what a request asks for.
package signin

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"coleo.dev"
	"coleo.dev/wire"
)

// These constants are the limits for signed-in browsers.
const (
	// the largest number of browsers; a further sign-in signs out the browser that was unused for
	// the longest time
	maxBrowsers = 64
	idleLife    = 30 * 24 * time.Hour // a browser that was unused for this time is signed out
	saveEvery   = time.Hour           // the stored time of a browser's last use can be too early by this much
	maxAgent    = 200                 // how many bytes of a browser's User-Agent are stored at most
)

// ErrSignedOut is the cause with which the requests and WebSockets of a signed-out browser end.
var ErrSignedOut = errors.New("signed out")

// Browsers is the set of browsers that are signed in at one origin. Several goroutines
// can use it at the same time.
type Browsers struct {
	// the path of the file that stores the browsers; "" means that they are signed out when this process ends
	path       string
	origin     string // such as "http://127.0.0.1:8080"
	now        func() time.Time
	began      time.Time
	processKey [32]byte // the key that authenticates the nonces of this process

	mu    sync.Mutex
	links map[[sha256.Size]byte]time.Time // the time when each unused link expires; the key is the hash of the link's code
	known map[string]*browser             // the signed-in browsers; the key is the browser's id
}

// browser is a wire.Browser with the data for checking its requests.
type browser struct {
	wire.Browser
	secretHash []byte // the SHA-256 of the secret in the cookie
	key        *ecdsa.PublicKey
	saved      time.Time // the time of the last use that the file contains
	nonces     map[string]*uses
	live       context.Context // ends when the browser is signed out
	end        context.CancelCauseFunc
}

// Open reads the browsers that are signed in at the given origin from the file at `path`. If the file is for
// another origin, Open signs out all browsers in the file. Their keys may have been used by another program at
// that origin. Open always returns a usable set, even together with an error. The error says what could not be
// read or written.
func Open(path, origin string, now func() time.Time) (*Browsers, error) {
	b := &Browsers{path: path, origin: origin, now: now, began: now(), links: map[[sha256.Size]byte]time.Time{},
		known: map[string]*browser{}}
	_, _ = rand.Read(b.processKey[:]) // rand.Read never returns an error
	return b, b.load()
}

// List returns the signed-in browsers, newest first.
func (b *Browsers) List() []wire.Browser {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.dropIdle()
	out := make([]wire.Browser, 0, len(b.known))
	for _, one := range b.known {
		out = append(out, one.Browser)
	}
	slices.SortFunc(out, func(x, y wire.Browser) int {
		if n := y.Created.Compare(x.Created); n != 0 {
			return n
		}
		return strings.Compare(x.ID, y.ID)
	})
	return out
}

// SignOut signs out one browser, and ends its requests and WebSockets. It returns ENotFound if no
// browser with this id is signed in. After any other error, the browser is signed out in memory but
// not in the file.
func (b *Browsers) SignOut(id string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	one, ok := b.known[id]
	if !ok {
		return coleo.Errorf(coleo.ENotFound, "no browser with the id %q is signed in: see `coleo web list`", id)
	}
	b.drop(one)
	return b.saveAfterSignOut()
}

// SignOutAll signs out all browsers and cancels all unused links. It returns the number of
// browsers. After an error, the browsers are signed out in memory but not in the file.
func (b *Browsers) SignOutAll() (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := len(b.known)
	for _, one := range b.known {
		b.drop(one)
	}
	clear(b.links)
	return n, b.saveAfterSignOut()
}

func (b *Browsers) saveAfterSignOut() error {
	if err := b.save(); err != nil {
		return coleo.Errorf(coleo.EInternal, "signed out until serve restarts, but this could not be saved: %w", err)
	}
	return nil
}

func (b *Browsers) drop(one *browser) {
	delete(b.known, one.ID)
	one.end(ErrSignedOut)
}

// dropIdle signs out the browsers that were unused for idleLife.
func (b *Browsers) dropIdle() {
	for _, one := range b.known {
		if b.now().Sub(one.Used) > idleLife {
			b.drop(one)
		}
	}
}

// Knows reports whether the cookie belongs to a signed-in browser.
func (b *Browsers) Knows(cookie string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.find(cookie) != nil
}

// find returns the signed-in browser with the given cookie, or nil.
func (b *Browsers) find(cookie string) *browser {
	id, secret, _ := strings.Cut(cookie, ".")
	one, ok := b.known[id]
	if !ok || b.now().Sub(one.Used) > idleLife {
		return nil
	}
	hash := sha256.Sum256([]byte(secret))
	if subtle.ConstantTimeCompare(hash[:], one.secretHash) != 1 {
		return nil
	}
	return one
}

// add signs in a browser, and returns the browser and the secret for its cookie.
func (b *Browsers) add(key *ecdsa.PublicKey, agent string) (*browser, string) {
	secret, now := rand.Text(), b.now()
	hash := sha256.Sum256([]byte(secret))
	one := newBrowser(wire.Browser{ID: strings.ToLower(rand.Text()[:10]), Agent: cut(agent), Created: now, Used: now},
		hash[:], key)
	b.dropIdle()
	for len(b.known) >= maxBrowsers {
		b.drop(b.leastUsed())
	}
	b.known[one.ID] = one
	return one, secret
}

func newBrowser(of wire.Browser, secretHash []byte, key *ecdsa.PublicKey) *browser {
	one := &browser{Browser: of, secretHash: secretHash, key: key, saved: of.Used, nonces: map[string]*uses{}}
	one.live, one.end = context.WithCancelCause(context.Background())
	return one
}

func (b *Browsers) leastUsed() *browser {
	var out *browser
	for _, one := range b.known {
		if out == nil || one.Used.Before(out.Used) {
			out = one
		}
	}
	return out
}

// cut shortens a User-Agent, and removes characters that a terminal could take as a
// command.
func cut(agent string) string {
	clean := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return -1
		}
		return r
	}, agent)
	return clean[:min(len(clean), maxAgent)]
}

// parseKey decodes a public key from the format "raw" of WebCrypto.
func parseKey(raw []byte) (*ecdsa.PublicKey, error) {
	key, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), raw)
	if err != nil {
		return nil, coleo.Errorf(coleo.EInvalid, "the key is not an uncompressed P-256 point: %w", err)
	}
	return key, nil
}
