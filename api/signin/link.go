package signin

import (
	"crypto/rand"
	"crypto/sha256"
	"time"

	"coleo.dev"
	"coleo.dev/wire"
)

// These constants are the limits of links.
const (
	// the longest time from the command `coleo web` until the browser opens the link;
	// docs/security.md promises this limit
	linkLife = 2 * time.Minute
	maxLinks = 16 // the maximum number of unused links; a further link cancels the oldest link
)

// Link signs one browser in, and can be used only once.
type Link struct {
	Code    string    `json:"code"`
	Expires time.Time `json:"expires"`
}

// NewLink returns a link with a new code. The code is only in memory, so the link
// becomes invalid when this process ends.
func (b *Browsers) NewLink() Link {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.dropLinks(maxLinks - 1)
	link := Link{Code: rand.Text(), Expires: b.now().Add(linkLife)}
	b.links[sha256.Sum256([]byte(link.Code))] = link.Expires
	return link
}

// dropLinks removes the expired links. It then removes the oldest links until at most the given
// number is left.
func (b *Browsers) dropLinks(most int) {
	for hash, until := range b.links {
		if !b.now().Before(until) {
			delete(b.links, hash)
		}
	}
	for len(b.links) > most {
		var oldest [sha256.Size]byte
		var end time.Time
		for hash, until := range b.links {
			if end.IsZero() || until.Before(end) {
				oldest, end = hash, until
			}
		}
		delete(b.links, oldest)
	}
}

// Enter signs a browser in with the code of a link, which can be used only once. The key is the
// public key of the browser. If the browser already has the cookie oldCookie, Enter signs out the
// browser to which that cookie belongs.
//
// Enter returns the value of the new cookie. It returns EInvalid for a bad key. It returns
// EUnauthorized for a code that is unknown, used or expired.
func (b *Browsers) Enter(code string, key []byte, userAgent, oldCookie string) (wire.Browser, string, error) {
	parsed, err := parseKey(key)
	if err != nil {
		return wire.Browser{}, "", err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.dropLinks(maxLinks)
	hash := sha256.Sum256([]byte(code))
	if _, ok := b.links[hash]; !ok {
		return wire.Browser{}, "", coleo.Errorf(coleo.EUnauthorized,
			"this link was used already, or is older than two minutes: `coleo web` prints a new one")
	}
	delete(b.links, hash)
	old := b.find(oldCookie)
	one, secret := b.add(parsed, userAgent)
	if err := b.save(); err != nil {
		b.drop(one)
		return wire.Browser{}, "", coleo.Errorf(coleo.EInternal, "not signed in: %w", err)
	}
	if old != nil {
		b.drop(old)
		// Ignore an error. Nobody can use the old cookie any more, because the browser has replaced
		// its cookie and its key.
		_ = b.save()
	}
	return one.Browser, one.ID + "." + secret, nil
}
