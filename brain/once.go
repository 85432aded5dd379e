package brain

import (
	"cmp"
	"context"
	"slices"
	"time"

	"coleo.dev"
	"coleo.dev/brain/start"
	"coleo.dev/bus"
	"coleo.dev/wire"
)

// StartAttempt is one attempt of StartOnce to start an arm. All attempts with the same Arm start
// this arm at most once.
type StartAttempt struct {
	Arm   string // the id of the new arm; the same in each attempt
	Run   string // the id of the run that the first prompt begins
	By    string // the person or program that has requested the start, for people
	Again bool   // whether an earlier attempt may have sent the order to start the arm
	Late  bool   // with Again, whether it is too late to start the arm; StartOnce then only asks for the result
}

// OnceResult is the result of StartOnce.
type OnceResult string

// The results of StartOnce.
const (
	OnceStarted OnceResult = "started"
	OnceRefused OnceResult = "refused" // nothing was started, and a further attempt would also be refused
	OnceLater   OnceResult = "later"   // nothing was started, because there is no host agent; try again
	OnceUnknown OnceResult = "unknown" // the order was sent, but no reply says whether the arm was started; try again
)

// StartOnce starts a new arm, with its first prompt in its queue. If serve was killed before it knew the result, the
// caller repeats the call with the same id, and sets once.Again. The host agent carries out a repeated order only
// once. If the result is not OnceStarted, the error contains the reason.
func (b *Brain) StartOnce(ctx context.Context, q wire.SpawnRequest, once StartAttempt) (OnceResult, error) {
	arm, err := b.DB.Arm(ctx, once.Arm)
	switch {
	case err == nil:
		return b.orderOnceMore(ctx, arm, q, once)
	case coleo.ErrorCode(err) != coleo.ENotFound:
		return OnceUnknown, err
	case once.Again:
		return OnceRefused, coleo.Errorf(coleo.EConflict, "serve ended while it was about to start the arm %s, and there is "+
			"no such arm now: it was not started, or it was removed; it is not started again", q.Name)
	case cmp.Or(q.Harness, b.Defaults.Harness) == "" && len(b.roster.Live()) == 0:
		// Spawn would refuse the request, because only host agents say which harnesses are installed.
		return OnceLater, coleo.Errorf(coleo.EUnavailable, "the request names no harness, and no host agent runs that could "+
			"tell which are installed")
	}
	_, err = b.spawn(ctx, q, nil, &once)
	switch {
	case err == nil:
		return OnceStarted, nil
	case bus.IsUnanswered(err) || ctx.Err() != nil:
		return OnceUnknown, err
	case bus.IsUnreachable(err) || coleo.ErrorCode(err) == coleo.EUnavailable:
		return OnceLater, err
	}
	return OnceRefused, err
}

// orderOnceMore repeats the order of StartOnce for an arm whose row already exists.
func (b *Brain) orderOnceMore(ctx context.Context, arm coleo.Arm, q wire.SpawnRequest,
	once StartAttempt) (OnceResult, error) {
	config, err := start.Stored(arm)
	if err != nil {
		return OnceRefused, err
	}
	defer b.roster.HoldOrderOpen(arm.ID)()
	if once.Late {
		return b.lookOnce(ctx, arm)
	}
	err = b.order(ctx, arm, bus.SpawnOrder{ID: arm.ID, Name: arm.Name, Harness: arm.Harness, Config: config,
		Request: once.Run, First: once.firstQueued(q.InitialPrompt, b.Now())})
	switch {
	case err == nil:
		return OnceStarted, nil
	case bus.IsUnanswered(err) || bus.IsUnreachable(err) || ctx.Err() != nil:
		return OnceUnknown, err
	case arm.Generation == 0:
		b.undoOrderedRow(ctx, arm, coleo.Arm{})
	}
	return OnceRefused, err
}

// lookOnce asks the host whether an earlier order of StartOnce has started the arm. It orders no start.
func (b *Brain) lookOnce(ctx context.Context, arm coleo.Arm) (OnceResult, error) {
	var pulse bus.Pulse
	err := b.askAboutArm(ctx, arm, bus.OpPulse, bus.DefaultTimeout, bus.PulseOrder{Arm: arm.ID}, &pulse)
	at := slices.IndexFunc(pulse.Arms, func(a bus.ArmPulse) bool { return a.ID == arm.ID })
	switch {
	case err != nil && coleo.ErrorCode(err) != coleo.ENotFound:
		return OnceUnknown, err
	case err == nil && at >= 0 && pulse.Arms[at].PID != 0:
		return OnceStarted, nil
	case err == nil && at >= 0 && pulse.Arms[at].Starting:
		return OnceUnknown, coleo.Errorf(coleo.EBusy, "the arm %s is still being started", arm.Name)
	case arm.Generation == 0:
		b.undoOrderedRow(ctx, arm, coleo.Arm{})
	}
	return OnceRefused, coleo.Errorf(coleo.EConflict, "the arm %s was not started in time, because its host could not be "+
		"asked: it is not started any more", arm.Name)
}

func (o StartAttempt) firstQueued(prompt string, now time.Time) *coleo.Queued {
	return &coleo.Queued{ID: o.Run, Text: prompt, Added: now.UTC(), By: o.By}
}

// takeID gives a new arm the id in o. It returns EConflict if the arm already exists.
func (o StartAttempt) takeID(arm *coleo.Arm, known bool) error {
	if known {
		return coleo.Errorf(coleo.EConflict, "an arm called %q exists already: nothing was started", arm.Name)
	}
	arm.ID = o.Arm
	return nil
}
