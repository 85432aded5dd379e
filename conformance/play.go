package conformance

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"coleo.dev"
	"coleo.dev/conformance/modelserver"
	"coleo.dev/harnesses/terminal/mend"
)

// Played is a recorded session whose label does not come from its screen.
type Played struct {
	Name  string // name of the recording, without its suffix
	Label string // in the form of mend.Case, from the model server's record and the file system
	Err   error  // why the play was broken off; the label holds up to that moment
}

// plays are what a person does in a session. Each play is a session of its own.
var plays = []struct {
	name string
	asks bool // only for an agent CLI that asks for approvals
	run  func(*player) error
}{
	{"answers", false, (*player).answers},
	{"approves", true, (*player).approves},
	{"denies", true, (*player).denies},
	{"stops", false, (*player).stops},
}

const (
	// playTimeout bounds one play. The slowest agent CLI takes a minute.
	playTimeout = 5 * time.Minute
	// quietFor is how long the picture must stand still before the next key. A dialog is
	// drawn, and a start is over, in less time.
	quietFor = 2500 * time.Millisecond
	// startedFor is how long the picture must stand still before a started agent CLI gets
	// its first prompt. Some draw a composer and then start extensions.
	startedFor = 5 * time.Second
	// quietTimeout bounds the wait for that. Some pictures never stand still.
	quietTimeout = 20 * time.Second
	// typedFor is how long the picture must stand still after a text is typed. Some agent
	// CLIs take an ENTER right behind other keys as a part of a paste.
	typedFor = 700 * time.Millisecond
	// effectTimeout is how long a key may take until its effect is in the model's record or
	// in the file system.
	effectTimeout = 4 * time.Second
	// arrivalTimeout is how long a prompt may take until the model gets it.
	arrivalTimeout = 20 * time.Second
	// playPoll is the time between two looks.
	playPoll = 30 * time.Millisecond
)

// Keys that answer dialogs or stop a turn. They are tried one after another until one has
// an effect: the description of the harness may be wrong about this version.
var (
	approvingKeys = []string{"\r", "y", "1"}
	denyingKeys   = []string{"\x1b", "n\r"}
	stoppingKeys  = []string{"\x1b", "\x1b", "\x03"}
)

// Play plays sessions of an agent CLI, and records them in c.Record. It types without
// reading the screen, so the description of the harness may be wrong about this version.
// The labels come from the model server's record and from the file system. The error is
// ENotInstalled if the agent CLI is missing. A play that fails is no error of Play.
func Play(ctx context.Context, h coleo.Harness, c Config) ([]Played, error) {
	if c.Record == "" {
		return nil, errors.New("there is no folder for the recordings")
	}
	var out []Played
	for _, play := range plays {
		if play.asks && !h.Info().Capabilities.Approval {
			continue
		}
		c.log("Playing %s%s...", c.Prefix, play.name)
		played, err := playOne(ctx, h, c, play.name, play.run)
		if err != nil {
			return out, err
		}
		out = append(out, played)
	}
	return out, nil
}

func playOne(ctx context.Context, h coleo.Harness, c Config, name string, run func(*player) error) (Played, error) {
	ctx, cancel := patient(ctx, playTimeout)
	defer cancel()
	t, err := newTrial(h, c, name)
	if err != nil {
		return Played{}, err
	}
	p := &player{Trial: t, ctx: ctx}
	if err := t.spawn(ctx, nil); err != nil {
		return Played{}, errors.Join(err, t.close())
	}
	played := Played{Name: t.name, Err: p.start()}
	if played.Err == nil {
		played.Err = run(p)
	}
	if played.Err != nil {
		played.Err = fmt.Errorf("%w%s", played.Err, t.evidence())
		p.forgetUnproven()
	}
	p.become(mend.Unjudged, time.Now()) // the agent CLI is ended
	if err := t.close(); err != nil {
		return played, err
	}
	if len(t.recordedSessions) > 0 {
		played.Label = p.label(t.recordedSessions[0].start)
	}
	return played, nil
}

// player types into a session without reading its screen. It notes when each state must
// have begun.
type player struct {
	*Trial
	ctx    context.Context
	states []stateSince
	proven int // how many states are proven, because a later prompt reached the model
}

// stateSince is a state, and when it began.
type stateSince struct {
	at    time.Time
	state coleo.State
	title string
}

// become notes a state. Times never go back.
func (p *player) become(state coleo.State, at time.Time) {
	if n := len(p.states); n > 0 && at.Before(p.states[n-1].at) {
		at = p.states[n-1].at
	}
	s := stateSince{at: at, state: state}
	if state == coleo.WaitingApproval {
		s.title = " " + mend.AnyTitle
	}
	p.states = append(p.states, s)
}

// forgetUnproven takes back what a play that was broken off did not prove.
func (p *player) forgetUnproven() {
	if p.proven == len(p.states) {
		return
	}
	p.states = p.states[:p.proven+1]
	p.states[p.proven] = stateSince{at: p.states[p.proven].at, state: mend.Unjudged}
}

// changeTo waits until the picture stands still. The session may be in a state as soon as
// from says, and must be in it once the picture stands still.
func (p *player) changeTo(state coleo.State, from func() time.Time) error {
	since, err := p.quiet(quietFor)
	p.become(mend.Changing, from())
	p.become(state, since)
	return err
}

// label returns the states as the label of a recording.
func (p *player) label(start time.Time) string {
	parts := []string{"0.00 " + string(mend.Unjudged)}
	for _, s := range p.states {
		parts = append(parts, fmt.Sprintf("%.2f %s%s", max(0, s.at.Sub(start).Seconds()), s.state, s.title))
	}
	return strings.Join(parts, ", ")
}

// start waits until the started agent CLI has drawn something, and its picture stands
// still. That it takes input then is proven by the next prompt.
func (p *player) start() error {
	for strings.TrimSpace(p.picture()) == "" {
		if elapse(p.ctx, playPoll); p.ctx.Err() != nil {
			return fmt.Errorf("it draws nothing: %w", context.Cause(p.ctx))
		}
	}
	since, err := p.quiet(startedFor)
	p.become(coleo.Idle, since)
	return err
}

// answers are turns without a dialog: a short one, and two with pauses.
func (p *player) answers() error {
	for _, prompt := range []string{"say %s", "count to 12 every 150ms then say %s", "pause 2s then say %s"} {
		if err := p.turn(fmt.Sprintf(prompt, Nonce())); err != nil {
			return err
		}
	}
	return nil
}

// turn sends a prompt and waits until its turn has ended.
func (p *player) turn(prompt string) error {
	if _, err := p.send(prompt); err != nil {
		return err
	}
	return p.changeTo(coleo.Idle, p.lastReply)
}

// send types a prompt. It returns the model's request.
func (p *player) send(prompt string) (modelserver.Request, error) {
	if err := p.press(prompt); err != nil {
		return modelserver.Request{}, err
	}
	if _, err := p.still(typedFor); err != nil {
		return modelserver.Request{}, err
	}
	p.become(mend.Working, time.Now())
	if err := p.press("\r"); err != nil {
		return modelserver.Request{}, err
	}
	ctx, cancel := patient(p.ctx, arrivalTimeout)
	defer cancel()
	q, err := p.Model.Wait(ctx, func(q modelserver.Request) bool {
		return q.Side == "" && strings.TrimSpace(q.Prompt) == prompt && (q.Done || !q.First.IsZero())
	})
	if err != nil {
		return q, fmt.Errorf("the prompt %q does not reach the model: %w", prompt, err)
	}
	p.proven = len(p.states)
	return q, nil
}

// asking are prompts that make the model ask. The first one needs no tools.
var asking = []string{"write %s with words", "run touch %s"}

// canAsk reports whether the agent CLI offers the model what a prompt needs.
func (p *player) canAsk(i int) bool {
	return i == 0 || slices.ContainsFunc(p.Model.Record(), func(q modelserver.Request) bool { return len(q.Tools) > 0 })
}

// approves approves a file and a command, and then sends a prompt.
func (p *player) approves() error {
	for i, ask := range asking {
		if !p.canAsk(i) {
			break
		}
		file := Nonce()
		if err := p.ask(fmt.Sprintf(ask, file)); err != nil {
			return err
		}
		path := filepath.Join(p.Workdir, file)
		at, err := p.tryKeys(approvingKeys, func() bool { return exists(path) })
		if err != nil {
			return fmt.Errorf("nothing approves %s: %w", fmt.Sprintf(ask, file), err)
		}
		p.become(mend.Working, at)
		ended := func() time.Time { return later(p.lastReply(), modified(path)) }
		if err := p.changeTo(coleo.Idle, ended); err != nil {
			return err
		}
	}
	return p.turn("say " + Nonce())
}

// denies denies a file and a command. Each time a prompt proves that the turn is over.
func (p *player) denies() error {
	for i, ask := range asking {
		if !p.canAsk(i) {
			break
		}
		file := Nonce()
		if err := p.ask(fmt.Sprintf(ask, file)); err != nil {
			return err
		}
		before := p.picture()
		at, err := p.tryKeys(denyingKeys, func() bool { return p.picture() != before })
		if err != nil {
			return fmt.Errorf("nothing denies %s: %w", fmt.Sprintf(ask, file), err)
		}
		p.become(mend.Unjudged, at) // some agent CLIs ask the model once more
		since, err := p.quiet(quietFor)
		if err != nil {
			return err
		}
		p.become(coleo.Idle, since)
		if err := p.turn("say " + Nonce()); err != nil {
			return err
		}
		if exists(filepath.Join(p.Workdir, file)) {
			return errors.New("what was denied was done")
		}
	}
	return nil
}

// ask sends a prompt that makes the agent CLI ask, and waits until the dialog is drawn.
func (p *player) ask(prompt string) error {
	if _, err := p.send(prompt); err != nil {
		return err
	}
	return p.changeTo(coleo.WaitingApproval, p.lastReply)
}

// stops stops a turn, and then sends a prompt.
func (p *player) stops() error {
	prompt := "count to 300 every 200ms then say " + Nonce()
	if _, err := p.send(prompt); err != nil {
		return err
	}
	elapse(p.ctx, quietFor)
	at, err := p.tryKeys(stoppingKeys, func() bool {
		return slices.ContainsFunc(p.Model.Record(), func(q modelserver.Request) bool { return q.Aborted })
	})
	if err != nil {
		return fmt.Errorf("nothing stops a turn: %w", err)
	}
	p.become(mend.Unjudged, at)
	since, err := p.quiet(quietFor)
	if err != nil {
		return err
	}
	p.become(coleo.Idle, since)
	return p.turn("say " + Nonce())
}
