package brain

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/modelresolver"
)

const (
	// providersFresh is how long a catalogue is used from memory. During this time, no host is
	// asked again. Prices and models change from day to day.
	providersFresh = 10 * time.Minute
	// providersTimeout is how long the brain waits for the replies of hosts. A host starts an agent
	// CLI to get the catalogue.
	providersTimeout = 90 * time.Second
	// providersKey is the name of the setting in which the store keeps the last catalogue. The
	// catalogue therefore survives a restart of serve.
	providersKey = "opencode.providers"
)

// providerCache holds the last catalogue.
type providerCache struct {
	mu   sync.Mutex
	body json.RawMessage
	at   time.Time
}

// cachedProviders is the stored form of a catalogue.
type cachedProviders struct {
	At   time.Time       `json:"at"`
	Body json.RawMessage `json:"body"`
}

// Providers returns the reply of the API route for model catalogues. The reply contains the
// providers, their models, and which providers are connected. It comes from OpenCode on one of the
// hosts.
//
// If no host can reply, Providers returns the last catalogue, marked as cached. If there is also no
// last catalogue, it returns the error of the last host that it asked. If there is also no host
// agent to ask, it returns EUnavailable.
func (b *Brain) Providers(ctx context.Context) (json.RawMessage, error) {
	c := &b.providers
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.body != nil && b.Now().Sub(c.at) < providersFresh {
		return annotateCatalogue(c.body, "cache", c.at, "")
	}
	raw, err := b.askProviders(ctx)
	if err == nil {
		c.body, c.at = raw, b.Now()
		if kept, err := json.Marshal(cachedProviders{At: c.at, Body: raw}); err == nil {
			_ = b.DB.SetConfig(ctx, providersKey, string(kept))
		}
		return annotateCatalogue(raw, "", c.at, "")
	}
	if last, ok := b.lastProviders(ctx); ok {
		return annotateCatalogue(last.Body, "cache", last.At, err.Error())
	}
	return nil, err
}

func (b *Brain) askProviders(ctx context.Context) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, providersTimeout)
	defer cancel()
	err := error(coleo.Errorf(coleo.EUnavailable, "no host agent runs: start one with 'coleo up'"))
	for _, beat := range b.liveHosts() {
		var raw json.RawMessage
		if err = b.Bus.Ask(ctx, beat.ID, bus.OpProviders, nil, &raw); err != nil {
			continue
		}
		var catalog modelresolver.Catalog
		if catalog, err = modelresolver.ParseCatalog(raw); err != nil {
			continue
		}
		return json.Marshal(catalog)
	}
	return nil, err
}

func (b *Brain) lastProviders(ctx context.Context) (cachedProviders, bool) {
	var last cachedProviders
	text, err := b.DB.Config(ctx, providersKey)
	return last, err == nil && text != "" && json.Unmarshal([]byte(text), &last) == nil
}

// annotateCatalogue copies a catalogue. It adds fields for the catalogue's source, its time and the
// problem.
func annotateCatalogue(body json.RawMessage, source string, at time.Time, problem string) (json.RawMessage, error) {
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
