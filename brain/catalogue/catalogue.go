// Package catalogue stores the newest catalogue of models that OpenCode on one of the hosts has
// returned. With the stored catalogue, serve rarely asks the hosts, and knows the models after a
// restart.
package catalogue

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"coleo.dev/store"
)

const (
	// fresh is how long a catalogue in memory is used before a host is asked again. Prices and
	// models change only from day to day.
	fresh = 10 * time.Minute
	// setting is the name of the setting that contains the newest catalogue in the store, so that
	// the catalogue survives a restart of serve.
	setting = "opencode.providers"
)

// Config contains what a Catalogue needs.
type Config struct {
	DB  *store.ServeDB
	Now func() time.Time
	// Ask fetches the catalogue from one of the hosts. It returns EUnavailable if there is no host
	// agent.
	Ask func(ctx context.Context) (json.RawMessage, error)
}

// Catalogue contains the newest catalogue. It is safe for concurrent use.
type Catalogue struct {
	config Config

	mu   sync.Mutex // held while a host is asked, so that simultaneous callers ask it only once
	body json.RawMessage
	at   time.Time
}

// New returns a Catalogue that has asked no host yet.
func New(c Config) *Catalogue { return &Catalogue{config: c} }

// stored is the form of a catalogue in the store.
type stored struct {
	At   time.Time       `json:"at"`
	Body json.RawMessage `json:"body"`
}

// Providers returns the reply of the API route for model catalogues: the providers, their models,
// and which providers are connected. The reply comes from OpenCode on one of the hosts.
//
// If no host can reply, Providers returns the newest stored catalogue, marked as cached. If there
// is none, it returns the error of Config.Ask.
func (c *Catalogue) Providers(ctx context.Context) (json.RawMessage, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.body != nil && c.config.Now().Sub(c.at) < fresh {
		return annotate(c.body, "cache", c.at, "")
	}
	raw, err := c.config.Ask(ctx)
	if err == nil {
		c.body, c.at = raw, c.config.Now()
		if kept, err := json.Marshal(stored{At: c.at, Body: raw}); err == nil {
			_ = c.config.DB.SetSetting(ctx, setting, string(kept))
		}
		return annotate(raw, "", c.at, "")
	}
	if last, ok := c.last(ctx); ok {
		return annotate(last.Body, "cache", last.At, err.Error())
	}
	return nil, err
}

func (c *Catalogue) last(ctx context.Context) (stored, bool) {
	var last stored
	text, err := c.config.DB.Setting(ctx, setting)
	return last, err == nil && text != "" && json.Unmarshal([]byte(text), &last) == nil
}

// annotate returns a copy of a catalogue with additional fields: where the catalogue comes from, its time, and why
// no newer catalogue could be fetched.
func annotate(body json.RawMessage, source string, at time.Time, problem string) (json.RawMessage, error) {
	var fields map[string]any
	if err := json.Unmarshal(body, &fields); err != nil {
		return nil, err
	}
	fields["cached"], fields["cachedAt"] = source != "", at.UTC()
	if source != "" {
		fields["source"] = source
	}
	if problem != "" {
		fields["message"] = problem
	}
	return json.Marshal(fields)
}
