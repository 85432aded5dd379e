package brain

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/registry"
	"coleo.dev/store"
)

// Config is what a brain works with.
type Config struct {
	DB       *store.ServeDB
	Bus      *bus.Conn
	Registry *registry.Registry
	Log      *slog.Logger
	Now      func() time.Time
	Defaults Defaults
	// RemoteOnly says that no arm ever runs without a host agent, whatever a
	// request allows.
	RemoteOnly bool
	// Arbiter decides which start of an arm may be typed into; nil: this brain
	// alone.
	Arbiter Arbiter
}

// Defaults are what config.toml says of arms; empty fields say nothing.
type Defaults struct {
	Harness  string
	Provider string
	Model    string

	OnPartition coleo.OnPartition
}

// Brain is the one that decides. Make it with New, then Run it.
type Brain struct {
	Config
	updates *updates
	ctx     context.Context // ends with Run
	end     context.CancelFunc

	mu       sync.Mutex
	hosts    map[string]*member
	ordering map[string]int // how many orders to start an arm are open, by its id

	numbering sync.Mutex // one new generation's number at a time

	providers providerCache
	following sync.WaitGroup
}

// New returns a brain that follows nobody yet.
func New(c Config) *Brain {
	b := &Brain{Config: c, updates: newUpdates(), hosts: map[string]*member{}, ordering: map[string]int{}}
	if b.Arbiter == nil {
		b.Arbiter = newArbiter()
	}
	b.ctx, b.end = context.WithCancel(context.Background())
	return b
}

// Run follows every host until ctx ends. The brain's other methods may be
// called before it and while it runs.
func (b *Brain) Run(ctx context.Context) error {
	defer b.end()
	if err := b.Bus.Beats(ctx, b.takeBeat); err != nil {
		return err
	}
	if err := b.Bus.Growth(ctx, b.takeGrowth); err != nil {
		return err
	}
	if err := b.Bus.RollCall(); err != nil {
		return err
	}
	b.following.Go(func() { b.tidy(ctx) })
	<-ctx.Done()
	b.end()
	b.updates.end()
	b.following.Wait()
	return nil
}

// Arms returns the fleet's arms with their health, by name.
func (b *Brain) Arms(ctx context.Context, includeAll bool) ([]coleo.Arm, error) {
	list, err := b.DB.Arms(ctx, includeAll)
	for i := range list {
		b.summarise(&list[i])
	}
	return list, err
}

// Arm returns one arm with its health. Errors: ENotFound.
func (b *Brain) Arm(ctx context.Context, idOrName string) (coleo.Arm, error) {
	arm, err := b.DB.Arm(ctx, idOrName)
	if err != nil {
		return coleo.Arm{}, err
	}
	b.summarise(&arm)
	return arm, nil
}

func (b *Brain) summarise(arm *coleo.Arm) {
	signals := arm.Signals()
	signals.Watch = b.watchOf(*arm)
	arm.Runtime = coleo.Summarise(signals, b.Now())
}

// Harnesses describes the harnesses that this serve knows.
func (b *Brain) Harnesses(context.Context) ([]coleo.Info, error) {
	var out []coleo.Info
	for _, name := range b.Registry.List() {
		h, err := b.Registry.Get(name)
		if err != nil {
			return nil, err
		}
		out = append(out, h.Info())
	}
	return out, nil
}
