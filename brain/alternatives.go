package brain

import (
	"context"
	"time"

	"coleo.dev"
	"coleo.dev/brain/placement"
	"coleo.dev/brain/start"
	"coleo.dev/bus"
	"coleo.dev/limit"
	"coleo.dev/repeat"
	"coleo.dev/store"
	"coleo.dev/timelimit"
	"coleo.dev/wire"
)

// alternativesEvery is the time between two checks of all parked arms, the arms that wait at a limit of their model.
// A check only finds alternatives that were postponed. Every other alternative is tried at once, when EventParked
// appears in the log.
const alternativesEvery = 15 * time.Second

// takingAlternatives returns the task that makes parked arms try the alternatives in their OnLimit, such as another
// model.
func (b *Brain) takingAlternatives() repeat.Task {
	return repeat.Task{ID: "try the alternatives of parked arms", Every: alternativesEvery, Immediate: true,
		Do: func(ctx context.Context) error {
			arms, err := b.DB.Arms(ctx, true)
			for _, arm := range arms {
				b.considerAlternative(arm)
			}
			return err
		}}
}

// considerAlternatives reads a page (some new entries) of serve's log. For each arm that was parked at a limit of
// its model, it tries the alternatives.
func (b *Brain) considerAlternatives(ctx context.Context, page []store.Entry) {
	for _, e := range page {
		if e.Kind != coleo.EventParked {
			continue
		}
		if arm, err := b.DB.Arm(ctx, e.Arm); err == nil {
			b.considerAlternative(arm)
		}
	}
}

// considerAlternative starts a goroutine that tries the alternatives of a parked arm, unless such a
// goroutine is already running.
func (b *Brain) considerAlternative(arm coleo.Arm) {
	request := "alternatives of " + arm.ID
	if p, _, ok := alternativeOf(arm); !ok || p.Next == "" || !b.takeRequest(request) {
		return
	}
	b.following.Go(func() {
		defer b.dropRequest(request)
		for b.takeAlternative(b.ctx, arm.ID) {
		}
	})
}

// alternativeOf says at which limit a parked arm waits, and returns the alternative to try next. It returns false
// if no alternative is left, or if the queue is paused.
func alternativeOf(arm coleo.Arm) (coleo.Parked, coleo.LimitStep, bool) {
	if arm.Queue == nil || arm.Queue.Parked == nil || arm.Queue.Paused != "" {
		return coleo.Parked{}, coleo.LimitStep{}, false
	}
	step, ok := limit.First(*arm.Queue.Parked)
	return *arm.Queue.Parked, step, ok
}

// takeAlternative tries the next alternative of a parked arm. If the alternative fails, takeAlternative reports the
// cause to the host agent, and returns true, because another alternative may follow. If the alternative must be
// postponed, takeAlternative leaves the arm unchanged and returns false.
func (b *Brain) takeAlternative(ctx context.Context, id string) bool {
	arm, err := b.Arm(ctx, id)
	if err != nil {
		return false
	}
	p, step, ok := alternativeOf(arm)
	if !ok {
		return false
	}
	at := bus.ParkedAt{Run: p.Run, Try: p.Try, Step: coleo.OnLimit(step.String())}
	switch {
	case step.Do == coleo.LimitModel:
		err = b.goOnWith(ctx, arm, at, step.To)
	case step.To == arm.Harness:
		err = coleo.Errorf(coleo.EConflict, "the arm already has the harness %s", step.To)
	default:
		_, err = b.handOver(ctx, arm.ID, wire.HandoverRequest{To: step.To}, &at)
	}
	if err == nil || ctx.Err() != nil {
		return false
	}
	b.Log.Info("an alternative of a parked arm failed", "arm", arm.Name, "alternative", at.Step, "because", err)
	if comesLater(err) {
		return false
	}
	err = b.OrderAndCatchUp(ctx, arm.ID, bus.OpAlternative, timelimit.Typing, func(arm coleo.Arm) any {
		return bus.AlternativeOrder{Arm: arm.ID, At: at, Failed: err.Error()}
	}, nil)
	return err == nil
}

// comesLater reports whether the next check must try an alternative again after the error `err`. Either the
// alternative may be possible later, or its result is unknown.
func comesLater(err error) bool {
	switch coleo.ErrorCode(err) {
	case coleo.EBusy, coleo.EBlocked, coleo.EUnproven, coleo.EUnavailable, coleo.EStale:
		return true
	default:
		return bus.IsUnanswered(err) || bus.IsUnreachable(err)
	}
}

// goOnWith makes an arm that is parked at a limit of its model continue with another model of its harness.
// goOnWith returns an error if the model is not available, or if the fallback policy forbids its price. If the arm
// has its own model server or the scripted model, goOnWith accepts any name.
func (b *Brain) goOnWith(ctx context.Context, arm coleo.Arm, at bus.ParkedAt, name string) error {
	h, err := b.Registry.Get(arm.Harness)
	if err != nil {
		return err
	}
	c, err := start.Stored(arm)
	if err != nil {
		return err
	}
	provider, model := coleo.SplitModel(name)
	if provider == "" && h.Info().Catalog {
		provider = arm.Provider
	}
	if c.Endpoint == "" && !c.Scripted() {
		if _, err = b.models.Available(ctx, arm.Harness, c, &provider, &model, coleo.FallbackNone); err == nil {
			err = b.models.MayCost(ctx, arm, h.Info(), provider, model)
		}
	}
	if err != nil {
		return err
	}
	order := bus.AlternativeOrder{Arm: arm.ID, At: at, Model: coleo.ModelName(provider, model)}
	if able := h.Info().Capabilities; able.ModelFlag && able.Resume && arm.SessionID != "" {
		// clear Fork: if the conversation is a copy of another one, an earlier start has already made the copy
		c.Conversation, c.Fork = arm.SessionID, ""
		order.Spawn = &bus.SpawnOrder{ID: arm.ID, Name: arm.Name, Harness: arm.Harness, Config: c, Resume: true}
		if order.Spawn.Config.Generation, err = b.nextGeneration(ctx, arm); err != nil {
			return err
		}
	}
	defer b.roster.HoldOrderOpen(arm.ID)()
	var report bus.ModelReport
	err = b.OrderAndCatchUp(ctx, arm.ID, bus.OpAlternative, spawnTimeout, func(coleo.Arm) any { return order }, &report)
	if err != nil {
		return err
	}
	b.roster.TakePulseOf(ctx, arm.AgentID, arm.ID)
	err = b.keepChosenWith(ctx, arm.ID, report.Chosen, func(row *coleo.Arm, _, newest *coleo.Chosen) {
		if hasModel(newest, order.Model) {
			row.DefaultModel, row.ModelFallback = order.Model, nil
		}
	})
	if err != nil {
		b.Log.Error("record the model with which a parked arm continues", "arm", arm.Name, "error", err)
	}
	b.PublishArm(ctx, arm.ID)
	return nil
}

// OnLimit changes what an arm does at a limit of its model, and returns the resulting setting. If `on` is "",
// OnLimit only returns the present setting. If the arm waits at a limit now, the change also applies to this
// limit. OnLimit returns ENotFound if there is no such arm. If the arm can never use one of the listed
// alternatives, OnLimit returns EInvalid or EUnsupported. Other errors come from the host agent.
func (b *Brain) OnLimit(ctx context.Context, idOrName string, on coleo.OnLimit) (coleo.OnLimitReport, error) {
	arm, err := b.Arm(ctx, idOrName)
	if err != nil {
		return coleo.OnLimitReport{}, err
	}
	if on == "" {
		out := coleo.OnLimitReport{Arm: arm.Name, OnLimit: arm.SpawnConfig().AtLimit().OrDefault()}
		if arm.Queue != nil {
			out.Parked = arm.Queue.Parked
		}
		return out, nil
	}
	if err := b.mayOnLimit(arm, on); err != nil {
		return coleo.OnLimitReport{}, err
	}
	var report bus.OnLimitReport
	err = b.OrderAndCatchUp(ctx, arm.ID, bus.OpOnLimit, bus.DefaultTimeout, func(arm coleo.Arm) any {
		return bus.OnLimitOrder{Arm: arm.ID, OnLimit: on}
	}, &report)
	if err != nil {
		return report.OnLimitReport, err
	}
	return report.OnLimitReport, b.keepChosen(ctx, arm.ID, report.Chosen)
}

// mayOnLimit returns an error if an arm can never use an alternative of the list, or if its host
// agent is too old.
func (b *Brain) mayOnLimit(arm coleo.Arm, on coleo.OnLimit) error {
	if err := b.startRules().CheckOnLimit(on, arm.Harness, arm.SpawnConfig()); err != nil {
		return coleo.Errorf(coleo.ErrorCode(err), "nothing was changed: %w", err)
	}
	return placement.Require(b.roster.BeatOf(arm.AgentID), func(beat bus.Beat) bool { return beat.TakesOnLimit },
		"cannot change what a running arm does at a limit")
}
