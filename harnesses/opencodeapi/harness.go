// Package opencodeapi drives OpenCode through its HTTP API. It runs `opencode serve`
// under a holder. It sends prompts and replies as requests, and reads states from the
// server's event stream.
package opencodeapi

import (
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/opencode"
	"coleo.dev/harnesses/terminal"
	"coleo.dev/harnesses/terminal/launch"
	"coleo.dev/harnesses/terminal/rules"
	"coleo.dev/holder"
	"coleo.dev/record"
)

//go:embed harness.toml
var description []byte

// Harness implements coleo.Harness and coleo.Cataloguer.
type Harness struct {
	spec    *rules.Spec
	hold    []string
	records *record.Watcher
}

var (
	_ coleo.Harness        = (*Harness)(nil)
	_ coleo.Cataloguer     = (*Harness)(nil)
	_ coleo.AnswerReporter = (*Harness)(nil)
)

// ReadsAnswers returns true, because the server reports each message.
func (h *Harness) ReadsAnswers() bool { return true }

// New returns the harness. holdCommand is the command that starts a holder. The Watcher reports
// changes of OpenCode's database. New fails only if a built-in harness.toml is invalid.
func New(holdCommand []string, records *record.Watcher) (*Harness, error) {
	return NewFrom("opencode-api/harness.toml", description, holdCommand, records)
}

// screenSpec returns the description of OpenCode's terminal program. The description is compiled
// only once, because that takes some milliseconds of processor time. Nothing may change it.
var screenSpec = sync.OnceValues(func() (*rules.Spec, error) {
	return rules.ParseSpec("opencode/harness.toml", opencode.Spec)
})

// NewFrom returns a harness that drives OpenCode through its HTTP API. text is the content of the
// harness's harness.toml, and path is the path of that file for error messages. NewFrom fails only
// if this text or a built-in harness.toml is invalid.
func NewFrom(path string, text []byte, hold []string, records *record.Watcher) (*Harness, error) {
	spec, err := rules.ParseSpec(path, text)
	if err != nil {
		return nil, err
	}
	screen, err := screenSpec()
	if err != nil {
		return nil, err
	}
	spec.Launch = screen.Launch
	// Each request to the server names the conversation and the model, so the server's command line needs no
	// flags for them.
	spec.Launch.Parts = slices.DeleteFunc(slices.Clone(screen.Launch.Parts), func(p rules.Part) bool {
		return len(p.Args) > 0
	})
	// The server uses the same error texts as the terminal program, so the same limits are the default.
	if len(spec.Limits) == 0 {
		spec.Limits, spec.LimitForgets = screen.Limits, screen.LimitForgets
	}
	return &Harness{spec: spec, hold: hold, records: records}, nil
}

// Info describes the harness.
func (h *Harness) Info() coleo.Info { return h.spec.Info() }

// Conversations describes how to list OpenCode's conversations. They are the same as those of
// OpenCode's terminal program.
func (h *Harness) Conversations() record.Conversations { return opencode.Conversations() }

// extra contains the fields that only handles of this harness have.
type extra struct {
	Password string `json:"password"`
	Provider string `json:"provider,omitempty"`
	Model    string `json:"model,omitempty"`
	// Home is the HOME folder that contains the record of the conversation. Started is the time at which the
	// agent CLI was started. Entries of the record from before that time belong to an earlier start.
	Home    string    `json:"home,omitempty"`
	Folder  string    `json:"folder,omitempty"` // see record.Source.Named
	Started time.Time `json:"started,omitzero"`
	// Fork is the conversation that the server copies if the arm has no conversation yet.
	Fork string `json:"fork,omitempty"`
	// Client starts OpenCode's terminal program for this server. It is nil if the harness shows no
	// window.
	Client *Client `json:"client,omitempty"`
}

// passwordEnv is the variable that sets the server's password, and so turns on its authentication.
const passwordEnv = "OPENCODE_SERVER_PASSWORD"

// Spawn starts the server under a holder and returns its session. It returns EUnsupported for
// PartitionFreeze, because the server has no terminal that Coleo could freeze. It also returns the
// errors of launch.Plan and of holder.Start.
func (h *Harness) Spawn(ctx context.Context, c coleo.SpawnConfig) (coleo.Session, error) {
	s, err := h.Start(ctx, c)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Start is like Spawn, but returns a *Session. It is for harnesses that build on this one.
func (h *Harness) Start(ctx context.Context, c coleo.SpawnConfig) (*Session, error) {
	if c.OnPartition == coleo.PartitionFreeze {
		return nil, coleo.Errorf(coleo.EUnsupported,
			"%s has no terminal that could be frozen: leave out --on-partition freeze, or use the harness 'opencode'",
			h.Info().Title)
	}
	own := extra{Password: rand.Text(), Provider: c.Provider, Model: c.Model, Fork: c.Fork,
		Home: launch.Home(&c), Started: time.Now()}
	if c.Endpoint != "" { // the configured endpoint belongs to the provider "coleo"
		own.Provider, own.Model = "coleo", c.Model
		if own.Model == "" {
			own.Model = "default"
		}
	}
	status, plan, err := h.serve(ctx, &c, own.Password)
	if err != nil {
		return nil, err
	}
	if h.spec.Capabilities.Window {
		own.Client = clientOf(plan, len(c.Wrap))
	}
	own.Folder = launch.NamedFolder(plan, opencode.Conversations().Source.FolderEnv)
	raw, err := json.Marshal(own)
	if err != nil {
		return nil, err
	}
	return h.open(coleo.Handle{
		Harness: h.spec.Name, Arm: c.Arm, Generation: c.Generation, Nonce: c.Nonce, Dir: c.Dir, Workdir: c.Workdir,
		Holder: status.Holder, Process: status.Process, Conversation: c.Conversation, Extra: raw,
	}, own)
}

// serve starts the server. It returns the holder's status, and the command that the holder runs.
func (h *Harness) serve(ctx context.Context, c *coleo.SpawnConfig, password string) (holder.Status, holder.Launch,
	error) {
	if _, taken := c.Env[passwordEnv]; taken {
		return holder.Status{}, holder.Launch{}, coleo.Errorf(coleo.EInvalid,
			"the environment variable %s cannot be given to this arm: the harness %s sets it itself", passwordEnv,
			h.spec.Name)
	}
	c.Args = append([]string{"serve", "--hostname", "127.0.0.1", "--port", "0"}, c.Args...)
	plan, err := launch.Plan(h.spec, c, nil)
	if err != nil {
		return holder.Status{}, plan, err
	}
	plan.Env = append(plan.Env, passwordEnv+"="+password)
	status, err := holder.Start(ctx, h.hold, plan)
	return status, plan, err
}

// Attach reopens the session of a handle. The holder must prove that it belongs to this handle.
// Attach returns the errors of terminal.Prove.
func (h *Harness) Attach(_ context.Context, handle coleo.Handle) (coleo.Session, error) {
	s, err := h.Reopen(handle)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Reopen is like Attach, but returns a *Session. It is for harnesses that build on this one.
func (h *Harness) Reopen(handle coleo.Handle) (*Session, error) {
	var own extra
	if err := json.Unmarshal(handle.Extra, &own); err != nil {
		return nil, fmt.Errorf("read the handle of arm %s: %w", handle.Arm, err)
	}
	if _, err := terminal.Prove(handle); err != nil {
		return nil, err
	}
	return h.open(handle, own)
}

// catalogGrace is the time between HUP and KILL for a server that was started only for
// its catalog.
const catalogGrace = time.Second

// Catalog starts a server, asks it for its catalog, and ends it again. It returns the providers,
// models, prices and defaults as JSON, without the API keys that the server's answer also contains.
// It returns EInvalid if the answer is no JSON. It also returns the errors of launch.Plan, of
// holder.Start and of the request to the server.
func (h *Harness) Catalog(ctx context.Context, c coleo.SpawnConfig) (json.RawMessage, error) {
	c.Arm, c.Generation, c.Nonce = "catalog-"+rand.Text(), 1, rand.Text()
	password := rand.Text()
	if _, _, err := h.serve(ctx, &c, password); err != nil {
		return nil, err
	}
	client, err := holder.Dial(c.Dir, c.Nonce)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	defer func() { _, _ = client.Stop(catalogGrace) }()
	base, err := awaitAddress(ctx, client)
	if err != nil {
		return nil, err
	}
	var body catalogue
	err = newServer(base, password, c.Workdir).do(ctx, "GET", "/provider", nil, &body)
	if bad := (*json.SyntaxError)(nil); errors.As(err, &bad) {
		return nil, coleo.Errorf(coleo.EInvalid, "model catalogue: %w", err)
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(body)
}

// catalogue contains the fields that Catalog returns from the server's answer. The other fields
// include API keys.
type catalogue struct {
	All []struct {
		ID     string `json:"id"`
		Name   string `json:"name"`
		Models map[string]struct {
			ID   string `json:"id"`
			Name string `json:"name"`
			Cost *struct {
				Input  float64 `json:"input"`
				Output float64 `json:"output"`
			} `json:"cost,omitempty"`
		} `json:"models"`
	} `json:"all"`
	Default   map[string]string `json:"default"`
	Connected []string          `json:"connected"`
}
