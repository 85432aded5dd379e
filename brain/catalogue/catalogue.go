// Package catalogue keeps the last catalogue of models that OpenCode on one of the hosts has given. So
// the hosts are asked seldom, and the models are known after a restart of serve.
package catalogue

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"coleo.dev/store"
)

const (
	// fresh is how long a catalogue is used from memory. During this time, no host is
	// asked again. Prices and models change from day to day.
	fresh = 10 * time.Minute
	// setting is the name of the setting in which the store keeps the last catalogue. The
	// catalogue therefore survives a restart of serve.
	setting = "opencode.providers"
)

// Config is what a Catalogue needs.
type Config struct {
	DB  *store.ServeDB
	Now func() time.Time
	// Ask gets the catalogue from one of the hosts. It returns EUnavailable if there is no host agent.
	Ask func(ctx context.Context) (json.RawMessage, error)
}

// Catalogue holds the last catalogue. It is safe for concurrent use.
type Catalogue struct {
	config Config

	mu   sync.Mutex // held while hosts are asked, so that they are asked once
	body json.RawMessage
	at   time.Time
}

// New returns a Catalogue that has asked no host yet.
func New(c Config) *Catalogue { return &Catalogue{config: c} }

// stored is the stored form of a catalogue.
type stored struct {
	At   time.Time       `json:"at"`
	Body json.RawMessage `json:"body"`
}

// Providers returns the reply of the API route for model catalogues. The reply contains the
// providers, their models, and which providers are connected. It comes from OpenCode on one of the
// hosts.
//
// If no host can reply, Providers returns the last catalogue, marked as cached. If there is also no
// last catalogue, it returns the error of Config.Ask.
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

// annotate copies a catalogue. It adds fields for the catalogue's source, its time and the
// problem.
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
