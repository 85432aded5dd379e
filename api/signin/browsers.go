// Package signin stores which browsers may use the dashboard. It checks that a request
// comes from one of these browsers. A browser needs two things to prove its identity: a
// cookie, and a signature with a key that cannot leave the browser. The package does
// not implement HTTP, and does not know what a request asks for.
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
)

// Limits of browsers that are signed in.
const (
	maxBrowsers = 64                  // when one more signs in, the browser that was used longest ago is signed out
	idleLife    = 30 * 24 * time.Hour // a browser is signed out after this time without use
	saveEvery   = time.Hour           // the time of use in the file is at most this much too old
	maxAgent    = 200                 // bytes kept of a browser's User-Agent
)

// ErrSignedOut is the reason why a browser's requests and WebSockets end when the browser
// is signed out.
var ErrSignedOut = errors.New("signed out")

// Browser describes a browser that is signed in. Coleo shows this description to users.
type Browser struct {
	ID      string    `json:"id"`
	Agent   string    `json:"agent"` // the browser's User-Agent; anybody can forge it
	Created time.Time `json:"created"`
	Used    time.Time `json:"used"`
}

// Browsers is the set of browsers that are signed in at one origin. A Browsers is safe
// for concurrent use.
type Browsers struct {
	path       string // "" means that all sign-ins end with this process
	origin     string // "http://127.0.0.1:8080"
	now        func() time.Time
	began      time.Time
	processKey [32]byte // authenticates the nonces of this process

	mu    sync.Mutex
	links map[[sha256.Size]byte]time.Time // time of expiry, by the hash of the link's code
	known map[string]*browser             // by id
}

// browser is a Browser, with the data that is needed to check its requests.
type browser struct {
	Browser
	secretHash []byte // SHA-256 of the cookie's secret
	key        *ecdsa.PublicKey
	saved      time.Time // Used, as stored in the file
	nonces     map[string]*uses
	live       context.Context // ends when the browser is signed out
	end        context.CancelCauseFunc
}

// Open reads the browsers that are signed in at origin from the file at path. If the
// file belongs to another origin, Open signs out all its browsers for good. Another
// program may have served that origin in the meantime, and may have used the keys of
// these browsers. Open always returns a usable set, even if it also returns an error.
// The error says what could not be read or written.
func Open(path, origin string, now func() time.Time) (*Browsers, error) {
	b := &Browsers{path: path, origin: origin, now: now, began: now(), links: map[[sha256.Size]byte]time.Time{},
		known: map[string]*browser{}}
	_, _ = rand.Read(b.processKey[:]) // never fails: see crypto/rand
	return b, b.load()
}

// List returns the browsers that are signed in, newest first.
func (b *Browsers) List() []Browser {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.dropIdle()
	out := make([]Browser, 0, len(b.known))
	for _, one := range b.known {
		out = append(out, one.Browser)
	}
	slices.SortFunc(out, func(x, y Browser) int {
		if n := y.Created.Compare(x.Created); n != 0 {
			return n
		}
		return strings.Compare(x.ID, y.ID)
	})
	return out
}

// SignOut signs out one browser and ends its requests and WebSockets. It returns
// ENotFound if no such browser is signed in. After any other error the browser is
// signed out in memory, but not in the file.
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

// SignOutAll signs out every browser and cancels every unused link. It returns the
// number of browsers that it has signed out. After an error the browsers are signed out
// in memory, but not in the file.
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

// dropIdle signs out browsers that were not used for idleLife.
func (b *Browsers) dropIdle() {
	for _, one := range b.known {
		if b.now().Sub(one.Used) > idleLife {
			b.drop(one)
		}
	}
}

// Knows reports whether cookie belongs to a browser that is signed in.
func (b *Browsers) Knows(cookie string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.find(cookie) != nil
}

// find returns the browser that has the cookie, or nil.
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

// add signs a browser in, and returns the secret for its cookie.
func (b *Browsers) add(key *ecdsa.PublicKey, agent string) (*browser, string) {
	secret, now := rand.Text(), b.now()
	hash := sha256.Sum256([]byte(secret))
	one := newBrowser(Browser{ID: strings.ToLower(rand.Text()[:10]), Agent: cut(agent), Created: now, Used: now},
		hash[:], key)
	b.dropIdle()
	for len(b.known) >= maxBrowsers {
		b.drop(b.leastUsed())
	}
	b.known[one.ID] = one
	return one, secret
}

func newBrowser(of Browser, secretHash []byte, key *ecdsa.PublicKey) *browser {
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

// cut shortens a User-Agent. It also removes bytes that a terminal could interpret as a
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

// parseKey parses a public key in WebCrypto's "raw" format.
func parseKey(raw []byte) (*ecdsa.PublicKey, error) {
	key, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), raw)
	if err != nil {
		return nil, coleo.Errorf(coleo.EInvalid, "the key is not an uncompressed P-256 point: %w", err)
	}
	return key, nil
}
