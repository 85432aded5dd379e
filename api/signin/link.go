package signin

import (
	"crypto/rand"
	"crypto/sha256"
	"time"

	"coleo.dev"
)

// Limits of links.
const (
	linkLife = 2 * time.Minute // from `coleo web` to the browser; docs/security.md promises this limit
	maxLinks = 16              // unused links; one more link cancels the oldest one
)

// Link signs one browser in. It works once.
type Link struct {
	Code    string    `json:"code"`
	Expires time.Time `json:"expires"`
}

// NewLink returns a link with a new code that signs one browser in. The code is kept
// only in memory, so it becomes invalid when this process ends.
func (b *Browsers) NewLink() Link {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.dropLinks(maxLinks - 1)
	link := Link{Code: rand.Text(), Expires: b.now().Add(linkLife)}
	b.links[sha256.Sum256([]byte(link.Code))] = link.Expires
	return link
}

// dropLinks removes links that have expired, and the oldest links beyond the given
// number.
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

// Enter signs a browser in by the code of a link. The code can be used only once. key
// is the public half of the browser's key. agent is the browser's User-Agent. before is
// the browser's old cookie, if it has one. Enter signs out the browser of the old
// cookie. Enter returns the value of the new cookie. It returns EInvalid for a bad key,
// and EUnauthorized for an unknown, used or expired code.
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
		return Browser{}, "", coleo.Errorf(coleo.EUnauthorized,
			"this link was used already, or is older than two minutes: `coleo web` prints a new one")
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
		// The old browser cannot prove itself any more, because its cookie and key have
		// been replaced.
		_ = b.save()
	}
	return one.Browser, one.ID + "." + secret, nil
}
