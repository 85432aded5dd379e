// Package brain makes the decisions for all hosts. It reads the hosts' logs into the store, starts arms on hosts that
// can run them, and carries out remedies. It also passes the commands of callers on to the arms' host agents.
//
// Package brain sends no keys to a terminal and reads no screen. Host agents do both.
package brain

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"coleo.dev"
	"coleo.dev/armname"
	"coleo.dev/brain/audit"
	"coleo.dev/brain/catalogue"
	"coleo.dev/brain/commands"
	"coleo.dev/brain/comments"
	"coleo.dev/brain/displays"
	"coleo.dev/brain/feed"
	"coleo.dev/brain/memos"
	"coleo.dev/brain/models"
	"coleo.dev/brain/origin"
	"coleo.dev/brain/permits"
	"coleo.dev/brain/roster"
	"coleo.dev/brain/start"
	"coleo.dev/brain/threads"
	"coleo.dev/brain/upkeep"
	"coleo.dev/brain/waits"
	"coleo.dev/bus"
	"coleo.dev/pricebook"
	"coleo.dev/registry"
	"coleo.dev/repeat"
	"coleo.dev/store"
)

// Config is the configuration of a brain.
type Config struct {
	DB       *store.ServeDB
	Bus      *bus.Conn
	Registry *registry.Registry
	Log      *slog.Logger
	Now      func() time.Time
	Defaults start.Defaults
	// Prices returns the prices of models. If it is nil, Coleo uses only its built-in prices.
	Prices func() *pricebook.Book
	// RemoteOnly forbids arms without a host agent, even if a request allows such arms.
	RemoteOnly bool
	// AllowLocal allows arms without a host agent even if their harness is daemon-managed, that is, usually needs
	// one. A request can override AllowLocal.
	AllowLocal bool
	// Local makes this process drive arms itself, as the host "host local". Local returns as soon as the process can
	// carry out orders, or with an error. If Local is nil, every arm needs a host agent.
	Local func(context.Context) error
	// Arbiter decides on which host an arm accepts typed keys. Nil means that there is no other
	// brain, so this brain decides alone.
	Arbiter permits.Arbiter
}

// Brain makes the decisions for all hosts. Create a Brain with New, then call Run.
//
// A method that gives an order to a host agent waits for the host agent's reply. If ctx's deadline passes
// before the reply arrives, the method returns ETimeout. If ctx is cancelled first, the method returns
// EUnavailable. After either of these errors, the brain does not know whether the order was carried out.
type Brain struct {
	Config
	*commands.Commands
	*memos.Memos
	*comments.UnsentStore
	*origin.Origins
	*catalogue.Catalogue
	*feed.Feed
	*displays.Snapshots
	*threads.Conversations
	*waits.Waits
	*audit.Trail
	ctx context.Context // ends when Run returns
	end context.CancelFunc

	permits *permits.Permits
	models  *models.Resolver
	roster  *roster.Roster

	mu       sync.Mutex
	moves    map[string]chan struct{} // the channel of each moving arm, closed when it has moved; the key is the arm's id
	requests map[string]bool          // the ids of the requests for subarms that are being carried out
	overlaps

	numbering sync.Mutex // held while a generation number is chosen and stored
	labelling sync.Mutex // held while labels are changed
	naming    sync.Mutex // held while an arm is renamed, so that its host and its row get the same name last
	counting  sync.Mutex // held while subarms are counted and the row of a new subarm is created

	following sync.WaitGroup
}

// New returns a brain that follows no host until Run is called.
func New(c Config) *Brain {
	if c.Prices == nil {
		c.Prices = func() *pricebook.Book { return pricebook.New(nil, pricebook.BuiltIn()) }
	}
	b := &Brain{Config: c, moves: map[string]chan struct{}{}, requests: map[string]bool{},
		overlaps: overlaps{starts: map[string]int{}, removals: map[string]bool{}}}
	b.ctx, b.end = context.WithCancel(context.Background())
	b.permits = permits.New(permits.Config{DB: c.DB, Bus: c.Bus, Log: c.Log, Arbiter: c.Arbiter, Prepare: b.prepareHost})
	b.roster = roster.New(b.ctx, roster.Config{DB: c.DB, Bus: c.Bus, Log: c.Log, Now: c.Now, Feed: b,
		Prepare: b.prepareHost, AskAboutArm: b.askAboutArm, Summarise: b.summarise, KeepPermits: b.permits.Keep,
		TakeRequests: b.takeRequests, NeverOrdered: neverOrdered, DropNeverOrdered: b.dropNeverOrdered,
		CatchUpChosen: b.catchUpChosen})
	b.Commands = commands.New(commands.Config{Find: b.Arm, Ask: b.askAboutArm, Permit: b.permits.Wait,
		CatchUp: b.roster.CatchUp, SettledOn: b.settledOn, RequireFileSupport: b.requireFileSupport})
	b.Snapshots = displays.New(displays.Config{DB: c.DB, Log: c.Log, Find: b.Arm, CatchUp: b.roster.CatchUp})
	b.Feed = feed.New(feed.Config{DB: c.DB, Log: c.Log, Arm: b.Arm, Arms: b.Arms, Logged: b.NoteLogged,
		Changed: b.NoteChanged, Published: b.considerAlternatives})
	b.Waits = waits.New(waits.Config{DB: c.DB, Find: b.Arm, Subscribe: b.SubscribeFromNow, Confirms: b.roster.Confirms,
		Ended: func() bool { return b.ctx.Err() != nil }, HostWord: roster.HostWord})
	b.Trail = audit.New(c.DB)
	b.Conversations = threads.New(threads.Config{DB: c.DB, Find: b.Arm, Hosts: b.threadHosts, Ask: b.roster.Ask})
	b.Origins = origin.New(c.DB)
	b.Catalogue = catalogue.New(catalogue.Config{DB: c.DB, Now: c.Now, Ask: b.askProviders})
	b.models = models.New(models.Config{Harnesses: c.Registry, Providers: b.Providers, Prices: c.Prices,
		Fallback: c.Defaults.Fallback, Log: c.Log, Now: c.Now})
	b.Memos = memos.New(c.DB, b.Arm, c.Now)
	b.UnsentStore = comments.New(comments.Config{DB: c.DB, Find: b.Arm, Prompt: b.Prompt, Now: c.Now})
	return b
}

// Run follows every host until ctx ends, and then returns nil. It returns an error if it cannot listen on the
// bus. Callers can use the other methods before they call Run and while Run is running.
func (b *Brain) Run(ctx context.Context) error {
	defer b.end()
	b.following.Go(func() { b.PublishLog(b.ctx) })
	if err := b.Bus.Beats(ctx, b.roster.TakeBeat); err != nil {
		return err
	}
	if err := b.Bus.Growth(ctx, b.roster.TakeGrowth); err != nil {
		return err
	}
	if err := b.Bus.RollCall(); err != nil {
		return err
	}
	repeated := repeat.New(b.Log)
	for _, task := range []repeat.Task{upkeep.Task(b.DB, b.Now), b.movingToHosts(), b.takingAlternatives()} {
		if err := repeated.Add(ctx, task); err != nil {
			return err
		}
	}
	<-ctx.Done()
	b.end()
	repeated.StopAll()
	b.EndFollowing()
	b.roster.Wait()
	b.following.Wait()
	return nil
}

// Arms returns the arms of all hosts with their health, sorted by name. If includeAll is false,
// Arms omits idle arms of the harness "manual" that have no task.
func (b *Brain) Arms(ctx context.Context, includeAll bool) ([]coleo.Arm, error) {
	list, err := b.DB.Arms(ctx, includeAll)
	for i := range list {
		b.summarise(&list[i])
	}
	return list, err
}

// Arm returns one arm with its health. It returns ENotFound if there is no such arm.
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
	signals.Watch = b.roster.WatchOf(*arm)
	arm.Runtime = coleo.Summarise(signals, b.Now())
	if q := arm.Queue; q != nil && q.Held != "" && q.Paused == "" && arm.State == coleo.Failed &&
		signals.Watch.Blocked == "" && !arm.Runtime.Stale && !arm.Runtime.Frozen {
		arm.Runtime.Reason = "its next prompt waits: " + q.Held + "; " + arm.Runtime.Reason
	}
}

// Hosts returns every host agent that serve has ever seen.
func (b *Brain) Hosts(ctx context.Context) ([]coleo.HostInfo, error) { return b.roster.Hosts(ctx) }

// Harnesses returns descriptions of the harnesses that this serve knows.
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

// Rename changes the name of an arm, first on the arm's host and then in the store. If Rename is
// interrupted between these steps, the caller can repeat it, because the host accepts a name that
// the arm already has.
//
// Rename returns ENotFound if there is no such arm, EInvalid for a bad name, and EConflict if
// another arm has the name. After each of these errors, the arm has its old name. Rename returns
// EUnavailable or ETimeout if the host agent did not reply. After these two errors, the arm has
// either the old name or the new name.
func (b *Brain) Rename(ctx context.Context, idOrName, name string) (coleo.Arm, error) {
	if err := armname.Check(name); err != nil {
		return coleo.Arm{}, err
	}
	b.naming.Lock()
	defer b.naming.Unlock()
	arm, err := b.Arm(ctx, idOrName)
	if err != nil {
		return arm, err
	}
	switch other, err := b.DB.Arm(ctx, name); {
	case err == nil && other.ID != arm.ID:
		return arm, coleo.Errorf(coleo.EConflict, "an arm called %q already exists: nothing was renamed", name)
	case err != nil && coleo.ErrorCode(err) != coleo.ENotFound:
		return arm, err
	}
	if arm.AgentID != "" {
		order := bus.RenameOrder{Arm: arm.ID, Name: name}
		if err := b.askAboutArm(ctx, arm, bus.OpRename, bus.DefaultTimeout, order, nil); err != nil {
			return arm, err
		}
	}
	if _, err := b.DB.UpdateArm(ctx, arm.ID, func(row *coleo.Arm) error {
		row.Name = name
		return nil
	}); err != nil {
		return arm, err
	}
	b.PublishArm(ctx, arm.ID)
	return b.Arm(ctx, arm.ID)
}

// joinWarnings joins the warnings, without the empty ones.
func joinWarnings(warnings ...string) string {
	return strings.Join(slices.DeleteFunc(warnings, func(s string) bool { return s == "" }), "; ")
}
