package signin

import (
	"crypto/rand"
	"crypto/sha256"
	"time"

	"coleo.dev"
)

// Bounds on links.
const (
	linkLife = 2 * time.Minute // between `coleo web` and the browser; the promise of docs/security.md
	maxLinks = 16              // that wait to be opened; one more ends the oldest
)

// Link is what lets one browser in, once.
type Link struct {
	Code    string    `json:"code"`
	Expires time.Time `json:"expires"`
}

// NewLink makes a code that signs one browser in. It is kept in memory alone,
// and dies with this process.
func (b *Browsers) NewLink() Link {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.dropLinks(maxLinks - 1)
	link := Link{Code: rand.Text(), Expires: b.now().Add(linkLife)}
	b.links[sha256.Sum256([]byte(link.Code))] = link.Expires
	return link
}

// dropLinks takes away links whose time is over, and the oldest beyond a number.
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

// Enter signs a browser in by the code of a link, which is used up by that. Key
// is the public half of the browser's key. The browser that had the cookie
// before is signed out. It returns the value of the new cookie. Errors: EInvalid
// for a key that is none, EUnauthorized for a code that is not, or no longer, good.
func (b *Browsers) Enter(code string, key []byte, agent, before string) (Browser, string, error) {
	parsed, err := parseKey(key)
	if err != nil {
		return Browser{}, "", err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.dropLinks(maxLinks)
	hash := sha256.Sum256([]byte(code))
	if _, ok := b.links[hash]; !ok {
		return Browser{}, "", coleo.Errorf(coleo.EUnauthorized, "this link was used already, or is older than two minutes: `coleo web` prints a new one")
	}
	delete(b.links, hash)
	old := b.find(before)
	one, secret := b.add(parsed, agent)
	if err := b.save(); err != nil {
		b.drop(one)
		return Browser{}, "", coleo.Errorf(coleo.EInternal, "not signed in: %w", err)
	}
	if old != nil {
		b.drop(old)
		_ = b.save() // it cannot prove itself any more: its cookie and its key have been replaced
	}
	return one.Browser, one.ID + "." + secret, nil
}
