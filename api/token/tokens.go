package token

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
	"sync"
	"time"

	"coleo.dev"
	"coleo.dev/armname"
	"coleo.dev/printable"
	"coleo.dev/wire"
)

const (
	// usualLife is how long a token is valid if the person sets no time. 90 days are long enough for most
	// projects, and a forgotten token does not stay valid for ever.
	usualLife = 90 * 24 * time.Hour
	longest   = 366 * 24 * time.Hour // the longest life of a token; at least once a year, a person must create a new one
	// mostTokens is the maximum number of tokens. A person could not keep track of more.
	mostTokens = 100
	// notedEvery is the shortest time between two writes of the time at which a token was last
	// used. Without this limit, each request would write to the disk.
	notedEvery = time.Minute
	// expiredEvery is the time between two searches for expired tokens. The timer of a context stands still while the
	// machine sleeps.
	expiredEvery = time.Minute

	secretBytes = 32
	// prefix is the beginning of each token value. People and secret scanners can recognize a token
	// value by this prefix.
	prefix = "coleo_op_"
)

// Store stores operator tokens. Its methods return the same errors as the methods of store.ServeDB.
type Store interface {
	Tokens(ctx context.Context) ([]coleo.OperatorToken, error)
	AddToken(ctx context.Context, t coleo.OperatorToken) error
	NoteTokenUse(ctx context.Context, t coleo.OperatorToken) error
	NotePrompted(ctx context.Context, t coleo.OperatorToken) error
	RemoveToken(ctx context.Context, name string) error
}

// Tokens contains the tokens of a server. Several goroutines can use it at the same time.
type Tokens struct {
	store Store
	now   func() time.Time

	mu     sync.Mutex
	list   map[string]*held // the tokens; the key is the hash of the token's value
	search *time.Timer      // calls endExpired; nil if no token is valid
}

// held is a token in memory. Its context `live` ends when the token is revoked or expires.
type held struct {
	coleo.OperatorToken
	live context.Context
	end  context.CancelFunc
}

// Open reads the tokens from a store. If the store is nil, there are no tokens, and none can be
// created.
func Open(ctx context.Context, s Store, now func() time.Time) (*Tokens, error) {
	t := &Tokens{store: s, now: now, list: map[string]*held{}}
	if s == nil {
		return t, nil
	}
	stored, err := s.Tokens(ctx)
	for _, one := range stored {
		t.add(one)
	}
	return t, err
}

func (t *Tokens) add(one coleo.OperatorToken) {
	live, end := context.WithTimeout(context.Background(), one.Expires.Sub(t.now()))
	t.list[one.Hash] = &held{one, live, end}
	if t.search == nil && live.Err() == nil {
		t.search = time.AfterFunc(expiredEvery, t.endExpired)
	}
}

// endExpired ends the running requests of expired tokens. It calls itself again later while a token is valid.
func (t *Tokens) endExpired() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.search = nil
	for _, one := range t.list {
		switch {
		case !t.now().Before(one.Expires):
			one.end()
		case t.search == nil:
			t.search = time.AfterFunc(expiredEvery, t.endExpired)
		}
	}
}

// Make creates a new token, and stores the token with the hash of its value. The arms that the token reaches,
// and the arm in which the token runs, come from `bounds`. Make returns the token and its value, which nobody
// can read later. It returns EInvalid for a bad request, and EConflict if another token has this name or
// there are mostTokens tokens.
func (t *Tokens) Make(ctx context.Context, q wire.TokenRequest,
	bounds coleo.OperatorToken) (coleo.OperatorToken, string, error) {
	one, err := t.newToken(q)
	if err != nil {
		return one, "", err
	}
	one.Arms, one.RunsIn = bounds.Arms, bounds.RunsIn
	var secret [secretBytes]byte
	_, _ = rand.Read(secret[:]) // rand.Read never returns an error
	value := prefix + base64.RawURLEncoding.EncodeToString(secret[:])
	one.Hash = hashOf(value)
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.store == nil:
		return one, "", coleo.Errorf(coleo.EUnsupported, "this server has no operator tokens")
	case len(t.list) >= mostTokens:
		return one, "", coleo.Errorf(coleo.EConflict, "there are %d tokens already: revoke one first", len(t.list))
	}
	if err := t.store.AddToken(ctx, one); err != nil {
		return one, "", err
	}
	t.add(one)
	return one, value, nil
}

// newToken returns the token that a request describes, without a hash.
func (t *Tokens) newToken(q wire.TokenRequest) (coleo.OperatorToken, error) {
	now := t.now().UTC()
	one := coleo.OperatorToken{Name: q.Name, Scopes: q.Scopes, Labels: q.Labels, Created: now,
		Expires: q.Expires.UTC()}
	if armname.Check(q.Name) != nil {
		return one, coleo.Errorf(coleo.EInvalid, "%q cannot name a token: use 1 to 63 letters, digits, '.', '_' or '-', "+
			"beginning with a letter or digit", q.Name)
	}
	if err := q.Labels.Check(); err != nil {
		return one, err
	}
	if len(one.Scopes) == 0 {
		one.Scopes = []coleo.TokenScope{coleo.MayRead, coleo.MayPrompt}
	}
	for _, scope := range one.Scopes {
		if !slices.Contains(coleo.TokenScopes(), scope) {
			return one, coleo.Errorf(coleo.EInvalid, "there is no scope %q; the scopes are %s", scope,
				printable.List(coleo.TokenScopes()))
		}
	}
	if q.Expires.IsZero() {
		one.Expires = now.Add(usualLife)
	}
	if life := one.Expires.Sub(now); life <= 0 || life > longest {
		return one, coleo.Errorf(coleo.EInvalid, "a token is valid for at most %d days, and it must expire in the future",
			int(longest.Hours()/24))
	}
	return one, nil
}

// Revoke removes a token, and ends all requests that use the token. It returns ENotFound if there
// is no such token.
func (t *Tokens) Revoke(ctx context.Context, name string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for hash, one := range t.list {
		if one.Name != name {
			continue
		}
		if err := t.store.RemoveToken(ctx, name); err != nil {
			return err
		}
		one.end()
		delete(t.list, hash)
		return nil
	}
	return coleo.Errorf(coleo.ENotFound, "there is no token %q", name)
}

// Relabelled ends the running requests of tokens that may no longer reach an arm. It must be called
// after a change of the arm's labels. newLabels are the labels of the arm after the change, or nil
// if nobody knows them. The tokens stay valid.
func (t *Tokens) Relabelled(arm string, change coleo.LabelChange, newLabels coleo.Labels) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, one := range t.list {
		touched := slices.ContainsFunc(change.Remove, func(key string) bool { _, ok := one.Labels[key]; return ok })
		for key := range change.Set {
			_, ok := one.Labels[key]
			touched = touched || ok
		}
		if touched && !one.Reaches(arm, newLabels) {
			one.end()
			t.add(one.OperatorToken)
		}
	}
}

// List returns all tokens, sorted by name. The list includes expired tokens.
func (t *Tokens) List() []coleo.OperatorToken {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []coleo.OperatorToken
	for _, one := range t.list {
		out = append(out, one.OperatorToken)
	}
	slices.SortFunc(out, func(a, b coleo.OperatorToken) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// IsValue reports whether a text looks like the value of an operator token. The API token never
// looks like this.
func IsValue(text string) bool { return strings.HasPrefix(text, prefix) }

// Check returns the token with the given value. It also returns a context that ends when the token
// is revoked or expires. Check stores the time of the use. It returns EUnauthorized if there is no
// such token, or if the token has expired.
func (t *Tokens) Check(ctx context.Context, value string) (coleo.OperatorToken, context.Context, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	one, ok := t.list[hashOf(value)]
	now := t.now().UTC()
	switch {
	case !ok:
		return coleo.OperatorToken{}, nil, coleo.Errorf(coleo.EUnauthorized,
			"the operator token is wrong, or it was revoked")
	case !now.Before(one.Expires):
		return coleo.OperatorToken{}, nil, coleo.Errorf(coleo.EUnauthorized,
			"the operator token %q has expired: a person can make another one with `coleo token create`", one.Name)
	}
	if now.Sub(one.Used) >= notedEvery {
		one.Used = now
		// ignore the error, because a caller must be able to interrupt an arm even if the disk is full
		_ = t.store.NoteTokenUse(ctx, one.OperatorToken)
	}
	return one.OperatorToken, one.live, nil
}

// NotePrompted stores a note that a token prompts an arm. `arm` is the arm's id, or its StartedNote while the arm
// has no id. The caller must call NotePrompted before it sends the prompt. The new note replaces `oldNote`, if
// `oldNote` is not "". NotePrompted returns EUnauthorized if the token was revoked.
func (t *Tokens) NotePrompted(ctx context.Context, of coleo.OperatorToken, arm, oldNote string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	one, ok := t.list[of.Hash]
	if !ok {
		return coleo.Errorf(coleo.EUnauthorized, "the operator token %q was revoked", of.Name)
	}
	if slices.Contains(one.Prompted, arm) && oldNote == "" {
		return nil
	}
	kept := slices.DeleteFunc(slices.Clone(one.Prompted), func(id string) bool { return id == arm || id == oldNote })
	noted := one.OperatorToken
	noted.Prompted = append(kept, arm)
	if err := t.store.NotePrompted(ctx, noted); err != nil {
		return coleo.Errorf(coleo.EInternal, "the prompt of the operator token could not be recorded: %v", err)
	}
	one.OperatorToken = noted // only now, because a note in memory alone would be lost at the end of serve
	return nil
}

// Prompted returns the notes that NotePrompted has stored for a token.
func (t *Tokens) Prompted(of coleo.OperatorToken) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if one, ok := t.list[of.Hash]; ok {
		return slices.Clone(one.Prompted)
	}
	return nil
}

// hashOf returns the hash under which a value is stored. A plain SHA-256 is enough, because the
// value has 256 random bits and nobody can guess it.
func hashOf(value string) string {
	sum := sha256.Sum256([]byte(value))
	return hex.EncodeToString(sum[:])
}
