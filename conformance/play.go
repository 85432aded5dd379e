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
	"coleo.dev/conformance/patience"
	"coleo.dev/harnesses/terminal/mend"
)

// Played is the result of one play: a recorded session and its label, which says when each state began. The
// label does not come from the session's screen.
type Played struct {
	Name  string // name of the recording, without its suffix
	Label string // the label of the recording, in the format of mend.Case
	Err   error  // why the play ended early; the label then contains only the states that were proven before
}

// plays lists sequences of actions of a user. Play carries out each sequence in a separate session.
var plays = []struct {
	name string
	asks bool // the sequence is only for an agent CLI that asks for approvals
	run  func(*player) error
}{
	{"answers", false, (*player).playAnswers},
	{"approves", true, (*player).playApprovals},
	{"denies", true, (*player).playDenials},
	{"stops", false, (*player).playStops},
}

const (
	// playTimeout is the time limit for one play. The slowest agent CLI takes a minute.
	playTimeout = 5 * time.Minute
	// quietFor is how long the screen must stay unchanged before the player types the next key.
	// While an agent CLI draws a dialog, its screen never stays unchanged for so long.
	quietFor = 2500 * time.Millisecond
	// startedFor is how long the screen must stay unchanged after the start, before the player
	// types the first prompt. It is longer than quietFor, because some agent CLIs first draw a
	// composer and then start extensions.
	startedFor = 5 * time.Second
	// quietTimeout is how long the player waits for the screen to stop changing. Some screens never
	// stop, so the player then continues anyway.
	quietTimeout = 20 * time.Second
	// typedFor is how long the screen must stay unchanged after a text was typed, before the player
	// presses Enter. Some agent CLIs treat an earlier Enter as a part of a paste.
	typedFor = 700 * time.Millisecond
	// effectTimeout is how long the player waits for the effect of a key. It looks for
	// the effect in the model's record, in the file system or on the screen.
	effectTimeout = 4 * time.Second
	// arrivalTimeout is how long the player waits for a prompt to reach the model.
	arrivalTimeout = 20 * time.Second
	// playPoll is the time between two checks of the screen, the model's record or a file.
	playPoll = 30 * time.Millisecond
)

// These keys answer dialogs or stop a turn. The player presses one after another until one has an
// effect. It cannot use the keys in the harness's description, because the description may be wrong
// for this version of the agent CLI.
var (
	approvingKeys = []string{"\r", "y", "1"}
	denyingKeys   = []string{"\x1b", "n\r"}
	stoppingKeys  = []string{"\x1b", "\x1b", "\x03"}
)

// Play runs sessions of an agent CLI, one for each of the plays, and records them in c.Record. It
// does not use the harness's rules, because they may be wrong for this version of the agent CLI.
// The labels of the recordings come from the model server's record, the file system, and the times
// at which the screen changed.
//
// If the agent CLI is missing, the error is ENotInstalled. If a play fails, the error is in
// Played.Err.
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
	ctx, cancel := patience.With(ctx, playTimeout)
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
	p.recordState(mend.Unjudged, time.Now()) // accept any state from now on, because the agent CLI will be ended
	if err := t.close(); err != nil {
		return played, err
	}
	if len(t.recordedSessions) > 0 {
		played.Label = p.label(t.recordedSessions[0].start)
	}
	return played, nil
}

// player types into a session, and records the time at which each state began. It ignores the
// states that the session reports.
type player struct {
	*Trial
	ctx    context.Context
	states []stateSince
	proven int // number of states that are proven to be true, because a later prompt has reached the model
}

// stateSince is a state and the time at which it began.
type stateSince struct {
	at    time.Time
	state coleo.State
	title string
}

// recordState records that a state began at a given time. Times never go back: if `at` is earlier than the last
// recorded time, recordState uses the last recorded time.
func (p *player) recordState(state coleo.State, at time.Time) {
	if n := len(p.states); n > 0 && at.Before(p.states[n-1].at) {
		at = p.states[n-1].at
	}
	s := stateSince{at: at, state: state}
	if state == coleo.WaitingApproval {
		s.title = " " + mend.AnyTitle
	}
	p.states = append(p.states, s)
}

// forgetUnproven removes the states that a failed play has not proven. After the last proven state,
// the recording is labelled as unjudged.
func (p *player) forgetUnproven() {
	if p.proven == len(p.states) {
		return
	}
	p.states = p.states[:p.proven+1]
	p.states[p.proven] = stateSince{at: p.states[p.proven].at, state: mend.Unjudged}
}

// changeTo waits until the screen has stopped changing. Then it records two states:
//   - mend.Changing, which begins at the time that `from` returns
//   - the given state, which begins at the last change of the screen
func (p *player) changeTo(state coleo.State, from func() time.Time) error {
	since, err := p.waitForQuiet(quietFor)
	p.recordState(mend.Changing, from())
	p.recordState(state, since)
	return err
}

// label returns the recorded states as a label. `start` is the time at which the recording began.
func (p *player) label(start time.Time) string {
	parts := []string{"0.00 " + string(mend.Unjudged)}
	for _, s := range p.states {
		parts = append(parts, fmt.Sprintf("%.2f %s%s", max(0, s.at.Sub(start).Seconds()), s.state, s.title))
	}
	return strings.Join(parts, ", ")
}

// start waits until the agent CLI has drawn something and its screen has stopped changing. It then
// records that the agent CLI is idle, which the next prompt proves.
func (p *player) start() error {
	for strings.TrimSpace(p.picture()) == "" {
		if waitFor(p.ctx, playPoll); p.ctx.Err() != nil {
			return fmt.Errorf("it draws nothing: %w", context.Cause(p.ctx))
		}
	}
	since, err := p.waitForQuiet(startedFor)
	p.recordState(coleo.Idle, since)
	return err
}

// playAnswers plays three turns without a dialog: a short one, and two with pauses.
func (p *player) playAnswers() error {
	for _, prompt := range []string{"say %s", "count to 12 every 150ms then say %s", "pause 2s then say %s"} {
		if err := p.playTurn(fmt.Sprintf(prompt, Nonce())); err != nil {
			return err
		}
	}
	return nil
}

// playTurn sends a prompt and waits until its turn has ended.
func (p *player) playTurn(prompt string) error {
	if _, err := p.send(prompt); err != nil {
		return err
	}
	return p.changeTo(coleo.Idle, p.lastReply)
}

// send types a prompt and submits it. When the model has begun to answer, send returns
// the model's request.
func (p *player) send(prompt string) (modelserver.Request, error) {
	if err := p.press(prompt); err != nil {
		return modelserver.Request{}, err
	}
	if _, err := p.waitUnchanged(typedFor); err != nil {
		return modelserver.Request{}, err
	}
	p.recordState(mend.Working, time.Now())
	if err := p.press("\r"); err != nil {
		return modelserver.Request{}, err
	}
	ctx, cancel := patience.With(p.ctx, arrivalTimeout)
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

// asking lists prompts that make the agent CLI open a dialog. The agent CLI can obey the first prompt even if
// it offers no tools to the model.
var asking = []string{"write %s with words", "run touch %s"}

// canAsk reports whether the agent CLI can open a dialog for the prompt asking[i]. The
// first prompt always works. The others work only if the agent CLI offers tools to the
// model.
func (p *player) canAsk(i int) bool {
	return i == 0 || slices.ContainsFunc(p.Model.Record(), func(q modelserver.Request) bool { return len(q.Tools) > 0 })
}

// playApprovals plays one turn in which it approves a file, one in which it approves a
// command, and one more turn.
func (p *player) playApprovals() error {
	for i, ask := range asking {
		if !p.canAsk(i) {
			break
		}
		file := Nonce()
		if err := p.awaitDialog(fmt.Sprintf(ask, file)); err != nil {
			return err
		}
		path := filepath.Join(p.Workdir, file)
		at, err := p.tryKeys(approvingKeys, func() bool { return exists(path) })
		if err != nil {
			return fmt.Errorf("nothing approves %s: %w", fmt.Sprintf(ask, file), err)
		}
		p.recordState(mend.Working, at)
		ended := func() time.Time { return later(p.lastReply(), modifiedAt(path)) }
		if err := p.changeTo(coleo.Idle, ended); err != nil {
			return err
		}
	}
	return p.playTurn("say " + Nonce())
}

// playDenials plays one turn in which it denies a file, and one in which it denies a command. After
// each denial, it sends another prompt to prove that the denied turn was over.
func (p *player) playDenials() error {
	for i, ask := range asking {
		if !p.canAsk(i) {
			break
		}
		file := Nonce()
		if err := p.awaitDialog(fmt.Sprintf(ask, file)); err != nil {
			return err
		}
		before := p.picture()
		at, err := p.tryKeys(denyingKeys, func() bool { return p.picture() != before })
		if err != nil {
			return fmt.Errorf("nothing denies %s: %w", fmt.Sprintf(ask, file), err)
		}
		// not judged, because after a denial, some agent CLIs continue the turn with another request
		p.recordState(mend.Unjudged, at)
		since, err := p.waitForQuiet(quietFor)
		if err != nil {
			return err
		}
		p.recordState(coleo.Idle, since)
		if err := p.playTurn("say " + Nonce()); err != nil {
			return err
		}
		if exists(filepath.Join(p.Workdir, file)) {
			return errors.New("what was denied was done")
		}
	}
	return nil
}

// awaitDialog sends a prompt that makes the agent CLI open a dialog, and waits until the dialog
// is drawn.
func (p *player) awaitDialog(prompt string) error {
	if _, err := p.send(prompt); err != nil {
		return err
	}
	return p.changeTo(coleo.WaitingApproval, p.lastReply)
}

// playStops plays a turn that it stops before its end, and then one more turn.
func (p *player) playStops() error {
	prompt := "count to 300 every 200ms then say " + Nonce()
	if _, err := p.send(prompt); err != nil {
		return err
	}
	waitFor(p.ctx, quietFor)
	at, err := p.tryKeys(stoppingKeys, func() bool {
		return slices.ContainsFunc(p.Model.Record(), func(q modelserver.Request) bool { return q.Aborted })
	})
	if err != nil {
		return fmt.Errorf("nothing stops a turn: %w", err)
	}
	p.recordState(mend.Unjudged, at)
	since, err := p.waitForQuiet(quietFor)
	if err != nil {
		return err
	}
	p.recordState(coleo.Idle, since)
	return p.playTurn("say " + Nonce())
}
