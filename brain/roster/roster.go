// Package roster contains what serve knows about the hosts. For each host, this is:
//   - the beat, a sign of life that the host sends by itself;
//   - the pulse, a report about all arms that serve asks for;
//   - the position up to which the host's log is read into the store.
//
// The package follows each host that has sent a beat. It decides whether a host agent can be asked now. It also
// corrects the rows of arms that contradict what a host agent reports.
package roster

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/store"
)

// RuleOrdered is the rule in an arm's row from the moment when serve orders the arm's start until the host agent
// replies. Every other rule comes from an event of a host's log.
const RuleOrdered = "ordered"

// Config is the configuration of a roster. All fields are required.
type Config struct {
	DB   *store.ServeDB
	Bus  *bus.Conn
	Log  *slog.Logger
	Now  func() time.Time
	Feed Feed

	// Prepare is called before an order to a host. If the host is host local, Prepare starts it inside
	// serve.
	Prepare func(ctx context.Context, host string) error
	// AskAboutArm sends a command about an arm to the arm's host.
	AskAboutArm func(ctx context.Context, arm coleo.Arm, op bus.Op, limit time.Duration, in, out any) error
	// Summarise sets the fields of an arm that describe its health.
	Summarise func(arm *coleo.Arm)
	// KeepPermits renews the permits of a host agent's arms until ctx ends, and pauses while `needed` returns
	// false.
	KeepPermits func(ctx context.Context, host string, needed func() bool)
	// TakeRequests begins to carry out the approved requests of a host's arms, and returns at once.
	TakeRequests func(host string)
	// NeverOrdered reports whether a row belongs to an arm whose start was probably never ordered.
	// It is called for arms that their host does not know.
	NeverOrdered func(arm coleo.Arm) bool
	// DropNeverOrdered deletes a row for which NeverOrdered returns true, and reports whether the
	// row was deleted.
	DropNeverOrdered func(ctx context.Context, arm coleo.Arm) bool
	// CatchUpChosen copies the coleo.Chosen of an arm (the choices of a user) from the host into the arm's
	// row. It does nothing if the coleo.Chosen in the row has the given number or a higher one. If
	// CatchUpChosen returns nil, the row contains the coleo.Chosen with this number or a newer one.
	CatchUpChosen func(ctx context.Context, host, arm string, number int) error
}

// Feed publishes arms that have changed.
type Feed interface {
	PublishArm(ctx context.Context, id string)
	PublishArms(ctx context.Context, ids []string)
	PublishArmsOf(ctx context.Context, host string)
}

// Roster contains what serve knows about the hosts. Create a Roster with New.
type Roster struct {
	Config
	ctx context.Context // ends when the roster stops following hosts

	mu       sync.Mutex
	hosts    map[string]*knownHost
	ordering map[string]int // the number of open orders to start an arm; the key is the arm's id

	following sync.WaitGroup
}

// New returns a roster that knows no host. It begins to follow a host at the host's first beat (sign of life), and
// ends when ctx ends.
func New(ctx context.Context, c Config) *Roster {
	return &Roster{Config: c, ctx: ctx, hosts: map[string]*knownHost{}, ordering: map[string]int{}}
}

// Wait waits until the roster no longer follows any host. The caller must have ended the context of
// New.
func (r *Roster) Wait() { r.following.Wait() }

// IsLocal reports whether a host is host local, whose arms serve itself drives.
func IsLocal(host string) bool { return host == coleo.LocalHost }

// HostWord returns a name of the host of an arm, for a message about this arm.
func HostWord(host string) string {
	if IsLocal(host) {
		return "serve itself"
	}
	return "its host agent " + host
}

// A knownHost is a host that has sent a message to this serve process: a host agent or host local.
type knownHost struct {
	beat   bus.Beat
	seen   time.Time
	grown  chan struct{} // contains a value if the host's log may have new events
	beaten chan struct{} // contains a value if a beat (sign of life) has arrived, so that serve must ask for a pulse

	lostReason string    // the reason why the host agent cannot be asked now; "" if it can be asked
	heard      time.Time // the time of the host agent's last sign of life

	pulse          bus.Pulse
	pulsesAsked    int       // the number of requests for a pulse (a report about all arms) so far
	pulsesAnswered int       // the highest number of a request for a pulse that was answered
	pulsed         time.Time // when serve sent the request whose number is pulsesAnswered; zero before the first reply
	arms           map[string]bus.ArmPulse
	parts          map[string]partPulse // the reports about single arms that came after the last pulse
	settled        bool                 // whether all rows agree with the pulse
	confirmed      map[string]time.Time // when each arm's state was last confirmed; the key is the arm's id

	chosen map[string]int // the last known Number of the coleo.Chosen in each row; the key is the arm's id

	healthAtBeat map[string]coleo.Health // the health of each arm after the last beat; the key is the arm's id
	met          bool                    // whether TakeBeat has received a beat; only TakeBeat uses it

	pulling sync.Mutex // held while a piece of the host's log is read
	head    position   // the position up to which the host's log has been read
}

// position is a position in a host's log.
type position struct {
	epoch string
	seq   uint64
}

func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// host returns what this process knows about a host. If the host is new, host stores it and begins
// to follow it.
func (r *Roster) host(id string) *knownHost {
	r.mu.Lock()
	defer r.mu.Unlock()
	h, ok := r.hosts[id]
	if !ok {
		h = &knownHost{beat: bus.Beat{ID: id}, grown: make(chan struct{}, 1), beaten: make(chan struct{}, 1),
			confirmed: map[string]time.Time{}, parts: map[string]partPulse{}, arms: map[string]bus.ArmPulse{},
			healthAtBeat: map[string]coleo.Health{}}
		r.hosts[id] = h
		ctx := r.ctx
		r.following.Go(func() { r.followHost(ctx, id, h.grown) })
		r.following.Go(func() { r.watchHost(ctx, id, h) })
		r.following.Go(func() { r.KeepPermits(ctx, id, func() bool { return r.needsPermits(h) }) })
	}
	return h
}

// Live returns the last beat (sign of life) of each host agent that can be asked now. The host agent with the
// fewest arms comes first. The result does not contain host local (serve itself), because it is not a host agent.
func (r *Roster) Live() []bus.Beat {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []bus.Beat
	for id, h := range r.hosts {
		if !IsLocal(id) && h.lostReason == "" && r.Now().Sub(h.seen) <= bus.HostStale {
			out = append(out, h.beat)
		}
	}
	slices.SortFunc(out, func(x, y bus.Beat) int { return len(x.Arms) - len(y.Arms) })
	return out
}

// BeatOf returns the last beat of a host, or the zero Beat if there was none.
func (r *Roster) BeatOf(host string) bus.Beat {
	r.mu.Lock()
	defer r.mu.Unlock()
	if h := r.hosts[host]; h != nil {
		return h.beat
	}
	return bus.Beat{}
}

// Hosts returns every host agent that serve has ever seen.
func (r *Roster) Hosts(ctx context.Context) ([]coleo.HostInfo, error) {
	known, err := r.DB.Hosts(ctx)
	if err != nil {
		return nil, err
	}
	beats := map[string]bus.Beat{}
	for _, beat := range r.Live() {
		beats[beat.ID] = beat
	}
	out := make([]coleo.HostInfo, 0, len(known))
	for _, h := range known {
		if IsLocal(h.ID) {
			continue
		}
		beat, live := beats[h.ID]
		out = append(out, coleo.HostInfo{Host: h, PID: beat.PID, Arms: len(beat.Arms), Live: live,
			Behind: live && r.isBehind(beat)})
	}
	return out, nil
}

// isBehind reports whether a beat mentions events that serve has not read yet.
func (r *Roster) isBehind(beat bus.Beat) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	head := r.hosts[beat.ID].head
	return head.epoch != beat.Epoch || head.seq < beat.Head
}

// Knows reports whether a host has sent a message to this serve process.
func (r *Roster) Knows(host string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.hosts[host] != nil
}

// Attached returns the ids of the arms whose screens a host reads now, sorted. They come from the
// host's last report.
func (r *Roster) Attached(host string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	if h, ok := r.hosts[host]; ok {
		for id, a := range h.arms {
			if a.Attached && !a.Starting {
				out = append(out, id)
			}
		}
	}
	slices.Sort(out)
	return out
}
