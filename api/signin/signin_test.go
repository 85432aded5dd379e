package signin

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coleo.dev"
)

const here = "http://127.0.0.1:8080"

// clock is a time that a test sets.
type clock struct{ time.Time }

func (c *clock) now() time.Time { return c.Time }

func openAt(t *testing.T, path, origin string, c *clock) *Browsers {
	t.Helper()
	b, err := Open(path, origin, c.now)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func newClock() *clock { return &clock{time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)} }

// key is a browser's key with helpers for tests.
type key struct{ *ecdsa.PrivateKey }

func newKey(t *testing.T) key {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key{k}
}

func (k key) public() []byte { raw, _ := k.PublicKey.Bytes(); return raw }

func (k key) proof(b *Browsers, nonce string, number uint64, r Request) string {
	sum := sha256.Sum256(b.signedText(nonce, number, r))
	x, y, err := ecdsa.Sign(rand.Reader, k.PrivateKey, sum[:])
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf("%s.%d.%s", nonce, number,
		base64.RawURLEncoding.EncodeToString(append(x.FillBytes(make([]byte, 32)), y.FillBytes(make([]byte, 32))...)))
}

// enter signs a browser in and returns its id, its cookie and a nonce.
func enter(t *testing.T, b *Browsers, k key) (id, cookie, nonce string) {
	t.Helper()
	found, cookie, err := b.Enter(b.NewLink().Code, k.public(), "Test/1", "")
	if err != nil {
		t.Fatal(err)
	}
	nonce, _, err = b.Nonce(cookie)
	if err != nil {
		t.Fatal(err)
	}
	return found.ID, cookie, nonce
}

var asked = Request{Method: "POST", URI: "/api/arms?x=1", Body: []byte("{}")}

func TestALinkWorksOnceAndForTwoMinutes(t *testing.T) {
	t.Parallel()
	c := newClock()
	b := openAt(t, "", here, c)
	k := newKey(t)
	for _, test := range []struct {
		name  string
		after time.Duration
		times int
		want  coleo.Code
	}{
		{"at once", 0, 1, ""},
		{"a second time", 0, 2, coleo.EUnauthorized},
		{"just before its end", linkLife - 1, 1, ""},
		{"at its end", linkLife, 1, coleo.EUnauthorized},
	} {
		link, err := b.NewLink(), error(nil)
		c.Time = c.Add(test.after)
		for range test.times {
			_, _, err = b.Enter(link.Code, k.public(), "", "")
		}
		if coleo.ErrorCode(err) != test.want {
			t.Errorf("%s: %v, want code %q", test.name, err, test.want)
		}
	}
	if _, _, err := b.Enter(b.NewLink().Code, []byte("no key"), "", ""); coleo.ErrorCode(err) != coleo.EInvalid {
		t.Errorf("a key that is none: %v, want invalid", err)
	}
	first := b.NewLink()
	c.Time = c.Add(1)
	for range maxLinks {
		b.NewLink()
	}
	if _, _, err := b.Enter(first.Code, k.public(), "", ""); err == nil {
		t.Error("links are kept without bound")
	}
}

func TestASignatureCoversTheWholeRequest(t *testing.T) {
	t.Parallel()
	c := newClock()
	b := openAt(t, "", here, c)
	elsewhere := openAt(t, "", "http://127.0.0.1:8081", c)
	k := newKey(t)
	_, cookie, nonce := enter(t, b, k)
	_, foreign, foreignNonce := enter(t, b, newKey(t))
	good := k.proof(b, nonce, 1, asked)
	parts := strings.Split(good, ".")
	for _, test := range []struct {
		name          string
		cookie, proof string
		r             Request
		want          error
	}{
		{"another method", cookie, good, Request{"GET", asked.URI, asked.Body}, errForged},
		{"another path", cookie, good, Request{asked.Method, "/api/agents?x=1", asked.Body}, errForged},
		{"another query", cookie, good, Request{asked.Method, "/api/arms?x=2", asked.Body}, errForged},
		{"another body", cookie, good, Request{asked.Method, asked.URI, []byte("[]")}, errForged},
		{"another number", cookie, parts[0] + ".2." + parts[2], asked, errForged},
		{"another origin", cookie, k.proof(elsewhere, nonce, 1, asked), asked, errForged},
		{"another key", cookie, newKey(t).proof(b, nonce, 1, asked), asked, errForged},
		{"another browser's cookie", foreign, good, asked, errNonce},
		{"another browser's nonce", cookie, k.proof(b, foreignNonce, 1, asked), asked, errNonce},
		{"a nonce of somebody's own", cookie, k.proof(b, base64.RawURLEncoding.EncodeToString(make([]byte, nonceSize)),
			1, asked), asked, errNonce},
		{"a short nonce", cookie, k.proof(b, "AAAA", 1, asked), asked, errNonce},
		{"a nonce written otherwise", cookie, k.proof(b, nonce+"=", 1, asked), asked, errNonce},
		{"a number too high", cookie, k.proof(b, nonce, maxUses, asked), asked, errUsed},
		{"a number written otherwise", cookie, parts[0] + ".01." + parts[2], asked, errNoProof},
		{"no proof", cookie, "", asked, errNoProof},
		{"a wrong cookie", cookie + "x", good, asked, errCookie},
		{"no cookie", "", good, asked, errCookie},
		{"as it was signed", cookie, good, asked, nil},
		{"once more", cookie, good, asked, errUsed},
		{"signed anew, with the same number", cookie, k.proof(b, nonce, 1, asked), asked, errUsed},
		{"an earlier number", cookie, k.proof(b, nonce, 0, asked), asked, nil},
		{"the last number", cookie, k.proof(b, nonce, maxUses-1, asked), asked, nil},
	} {
		if _, err := b.Check(test.cookie, test.proof, test.r); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", test.name, err, test.want)
		}
	}
}

func TestANonceEnds(t *testing.T) {
	t.Parallel()
	c := newClock()
	b := openAt(t, "", here, c)
	k := newKey(t)
	_, cookie, nonce := enter(t, b, k)
	c.Time = c.Add(nonceLife - time.Millisecond)
	if _, err := b.Check(cookie, k.proof(b, nonce, 0, asked), asked); err != nil {
		t.Errorf("just before its end: %v", err)
	}
	c.Time = c.Add(time.Millisecond)
	if _, err := b.Check(cookie, k.proof(b, nonce, 1, asked), asked); !errors.Is(err, errNonce) {
		t.Errorf("at its end: %v, want %v", err, errNonce)
	}
	next, _, _ := b.Nonce(cookie)
	if _, err := b.Check(cookie, k.proof(b, next, 0, asked), asked); err != nil {
		t.Errorf("the next one: %v", err)
	}
	for _, one := range b.known {
		if len(one.nonces) != 1 {
			t.Errorf("%d nonces are remembered, want the one that can be used", len(one.nonces))
		}
	}
}

func TestARestartKeepsBrowsersAndNoNonce(t *testing.T) {
	t.Parallel()
	c, path := newClock(), filepath.Join(t.TempDir(), "browsers.json")
	b := openAt(t, path, here, c)
	k := newKey(t)
	id, cookie, nonce := enter(t, b, k)
	link := b.NewLink()

	b = openAt(t, path, here, c)
	if _, err := b.Check(cookie, k.proof(b, nonce, 0, asked), asked); !errors.Is(err, errNonce) {
		t.Errorf("a nonce of the former run: %v, want %v", err, errNonce)
	}
	if _, _, err := b.Enter(link.Code, k.public(), "", ""); coleo.ErrorCode(err) != coleo.EUnauthorized {
		t.Errorf("a link of the former run: %v, want unauthorized", err)
	}
	next, _, err := b.Nonce(cookie)
	if err != nil {
		t.Fatal(err)
	}
	pass, err := b.Check(cookie, k.proof(b, next, 0, asked), asked)
	if err != nil || pass.ID != id {
		t.Errorf("over a nonce of this run: %+v %v", pass, err)
	}
	if list := b.List(); len(list) != 1 || list[0].Agent != "Test/1" || list[0].ID != id {
		t.Errorf("list = %+v", list)
	}
}

// When serve moves to another port, a different program could listen at the old port. Its pages could use the
// keys that the browsers hold for this port. So the browsers must stay signed out, even when serve returns to
// the old port.
func TestMovingToAnotherPortSignsOutForGood(t *testing.T) {
	t.Parallel()
	c, path := newClock(), filepath.Join(t.TempDir(), "browsers.json")
	_, cookie, _ := enter(t, openAt(t, path, here, c), newKey(t))
	for _, origin := range []string{"http://127.0.0.1:9090", here} {
		if openAt(t, path, origin, c).Knows(cookie) {
			t.Errorf("still signed in at %s", origin)
		}
	}
}

func TestSigningOutLasts(t *testing.T) {
	t.Parallel()
	c, path := newClock(), filepath.Join(t.TempDir(), "browsers.json")
	b := openAt(t, path, here, c)
	k := newKey(t)
	id, cookie, nonce := enter(t, b, k)
	_, stays, _ := enter(t, b, newKey(t))
	pass, err := b.Check(cookie, k.proof(b, nonce, 0, asked), asked)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.SignOut(id); err != nil {
		t.Fatal(err)
	}
	if pass.Live.Err() == nil {
		t.Error("what it has open goes on")
	}
	for range 2 {
		if b.Knows(cookie) || !b.Knows(stays) {
			t.Errorf("signed in: %v, the other one: %v; want false and true", b.Knows(cookie), b.Knows(stays))
		}
		b = openAt(t, path, here, c)
	}
	link := b.NewLink()
	if n, err := b.SignOutAll(); n != 1 || err != nil {
		t.Errorf("SignOutAll = %d, %v", n, err)
	}
	if _, _, err := b.Enter(link.Code, k.public(), "", ""); err == nil {
		t.Error("a link outlives that all are signed out")
	}
	if openAt(t, path, here, c).Knows(stays) {
		t.Error("the other one is back")
	}
}

func TestSigningOutSaysWhenItDoesNotLast(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	b := openAt(t, filepath.Join(dir, "browsers.json"), here, newClock())
	id, cookie, _ := enter(t, b, newKey(t))
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := b.SignOut(id); err == nil || !strings.Contains(err.Error(), "could not be saved") || b.Knows(cookie) {
		t.Errorf("SignOut = %v, signed in: %v", err, b.Knows(cookie))
	}
	if _, _, err := b.Enter(b.NewLink().Code, newKey(t).public(), "", ""); err == nil || len(b.List()) != 0 {
		t.Errorf("Enter = %v with %d browsers, want an error and none", err, len(b.List()))
	}
}

func TestABrowserThatIsNotUsedIsSignedOut(t *testing.T) {
	t.Parallel()
	c, path := newClock(), filepath.Join(t.TempDir(), "browsers.json")
	b := openAt(t, path, here, c)
	k := newKey(t)
	_, cookie, _ := enter(t, b, k)
	_, idle, _ := enter(t, b, newKey(t))
	c.Time = c.Add(idleLife)
	nonce, _, _ := b.Nonce(cookie)
	if _, err := b.Check(cookie, k.proof(b, nonce, 0, asked), asked); err != nil {
		t.Fatal(err)
	}
	c.Time = c.Add(1)
	for range 2 {
		if !b.Knows(cookie) || b.Knows(idle) || len(b.List()) != 1 {
			t.Errorf("used: %v, idle: %v, %d in the list; want true, false, 1", b.Knows(cookie), b.Knows(idle),
				len(b.List()))
		}
		b = openAt(t, path, here, c)
	}
}

func TestBrowsersAreBounded(t *testing.T) {
	t.Parallel()
	c := newClock()
	b := openAt(t, "", here, c)
	k := newKey(t)
	_, first, _ := enter(t, b, k)
	for range maxBrowsers {
		c.Time = c.Add(time.Second)
		enter(t, b, k)
	}
	if len(b.List()) != maxBrowsers || b.Knows(first) {
		t.Errorf("%d browsers, the first one: %v; want %d without it", len(b.List()), b.Knows(first), maxBrowsers)
	}
}

func TestTheFileLetsNobodyIn(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "browsers.json")
	b := openAt(t, path, here, newClock())
	_, cookie, nonce := enter(t, b, newKey(t))
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, secret, _ := strings.Cut(cookie, ".")
	if strings.Contains(string(raw), secret) || strings.Contains(string(raw), nonce) {
		t.Errorf("the file holds a secret: %s", raw)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode = %v (%v), want 0600", info.Mode(), err)
	}
	for _, broken := range []string{"{", `{"origin":"` + here + `","browsers":[{"id":"a","secret":"","key":"AAAA"}]}`} {
		if err := os.WriteFile(path, []byte(broken), 0o600); err != nil {
			t.Fatal(err)
		}
		b, err := Open(path, here, newClock().now)
		if err == nil || !strings.Contains(err.Error(), path) || len(b.List()) != 0 {
			t.Errorf("%s: %v with %d browsers, want an error that names the file, and none", broken, err, len(b.List()))
		}
	}
}

func TestWhatABrowserCallsItselfIsPlainText(t *testing.T) {
	t.Parallel()
	b := openAt(t, "", here, newClock())
	if _, _, err := b.Enter(b.NewLink().Code, newKey(t).public(), "Good\x1b[2J\u202e"+strings.Repeat("x", 500),
		""); err != nil {
		t.Fatal(err)
	}
	if agent := b.List()[0].Agent; len(agent) != maxAgent || !strings.HasPrefix(agent, "Good[2Jx") {
		t.Errorf("agent = %q", agent)
	}
}
