package host

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/holder"
	"coleo.dev/host/armrecord"
	"coleo.dev/host/choosing"
	"coleo.dev/host/queue"
	"coleo.dev/limit"
	"coleo.dev/store"
)

// providers returns a model catalogue. It asks the installed agent CLIs one after another, and
// returns the first catalogue that it receives.
func (h *Host) providers(ctx context.Context, _ struct{}) (any, error) {
	err := error(coleo.Errorf(coleo.ENotInstalled, "no agent CLI that keeps a catalogue of models is installed on %s",
		h.Hostname))
	for _, name := range h.Registry.List() {
		harness, getErr := h.Registry.Get(name)
		if getErr != nil {
			continue
		}
		c, ok := harness.(coleo.Cataloguer)
		if !ok || !h.isInstalled(harness.Info().Command) {
			continue
		}
		var raw json.RawMessage
		if raw, err = h.catalog(ctx, c); err == nil {
			return raw, nil
		}
	}
	return nil, err
}

func (h *Host) catalog(ctx context.Context, c coleo.Cataloguer) (json.RawMessage, error) {
	dir, err := os.MkdirTemp(h.Dir, h.catalogPrefix())
	if err != nil {
		return nil, fmt.Errorf("make a folder for the catalogue: %w", err)
	}
	defer os.RemoveAll(dir)
	return c.Catalog(ctx, coleo.SpawnConfig{Dir: dir, Workdir: dir, Path: h.Path, Environ: h.Environ})
}

// catalogPrefix begins the names of the folders of catalogues. The two hosts of a state folder have different
// prefixes.
func (h *Host) catalogPrefix() string {
	if h.ID == coleo.LocalHost {
		return "catalog-local-"
	}
	return "catalog-agent-"
}

// leftCatalogs returns the folders of the catalogues that an earlier host agent was reading when it was killed. The
// caller must call leftCatalogs before this host agent reads a catalogue.
func (h *Host) leftCatalogs() (folders []string) {
	entries, err := os.ReadDir(h.Dir)
	if err != nil {
		h.Log.Warn("look for what a killed host agent has left", "error", err)
	}
	for _, e := range entries {
		if e.IsDir() && strings.HasPrefix(e.Name(), h.catalogPrefix()) {
			folders = append(folders, filepath.Join(h.Dir, e.Name()))
		}
	}
	return folders
}

// endCatalogs ends the programs that an earlier host agent has started for a catalogue, and deletes their folders.
func (h *Host) endCatalogs(folders []string) {
	for _, dir := range folders {
		client, err := holder.Dial(dir, "")
		if err == nil {
			var s holder.Status
			s, err = client.Status()
			_ = client.Close()
			if err == nil {
				err = holder.Terminate(s.Holder)
			}
		}
		if err == nil || coleo.ErrorCode(err) == coleo.EUnavailable {
			err = os.RemoveAll(dir)
		}
		if err != nil {
			h.Log.Warn("end a program that was started for a catalogue", "folder", dir, "error", err)
		}
	}
}

// capabilities returns the names of the harnesses whose agent CLIs are installed on this machine.
func (h *Host) capabilities() []string {
	var out []string
	for _, name := range h.Registry.List() {
		harness, err := h.Registry.Get(name)
		if err == nil && h.isInstalled(harness.Info().Command) {
			out = append(out, name)
		}
	}
	return out
}

func (h *Host) isInstalled(command string) bool {
	dirs := append([]string{}, h.Path...)
	for _, kv := range h.Environ {
		if len(kv) > 5 && kv[:5] == "PATH=" {
			dirs = append(dirs, filepath.SplitList(kv[5:])...)
		}
	}
	for _, dir := range dirs {
		info, err := os.Stat(filepath.Join(dir, command))
		if err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return true
		}
	}
	return false
}

// logins reports for each installed agent CLI whether the user of this host is logged in. It
// returns no secret.
func (h *Host) logins(context.Context, struct{}) (any, error) {
	out := []coleo.Login{}
	for _, name := range h.Registry.List() {
		harness, err := h.Registry.Get(name)
		if err != nil || !h.isInstalled(harness.Info().Command) {
			continue
		}
		if l, ok := harness.(coleo.LoginChecker); ok && !harness.Info().NoModel {
			login := l.Login(h.Environ)
			login.Host = h.ID
			out = append(out, login)
		}
	}
	return out, nil
}

// alternative carries out serve's order to try the next alternative of a parked arm. Such an arm
// waits at a limit of its model. An alternative is, for example, another model. The order names the
// limit and the alternative. The write that carries out the order also records that the alternative
// was tried. So if serve repeats the order after a kill, alternative does not carry it out twice.
//
// Before alternative changes the model, it stores the alternative in Parked.Doing. So if a kill
// interrupts the change, the repeated order recognizes that the change has begun. If the change
// needs a restart, the repeated order then starts the agent CLI again.
//
// alternative returns EStale if the arm no longer waits at this limit, or has already tried the
// alternative. It returns EBusy or EBlocked if serve must repeat the order later. After an error,
// the arm is still parked.
func (h *Host) alternative(ctx context.Context, o bus.AlternativeOrder) (any, error) {
	a, err := h.arm(o.Arm)
	if err != nil {
		return nil, err
	}
	if o.Failed != "" {
		leave, err := a.stay()
		if err != nil {
			return nil, err
		}
		defer leave()
		return nil, a.changeParked(ctx, o.At, func(r *store.ArmRecord, p coleo.Parked) []coleo.Event {
			p = limit.AfterTry(p, o.Failed)
			return armrecord.SetParked(r, queue.Park(armrecord.Queue(r), p),
				coleo.ParkChange{Step: coleo.ParkTried, Parked: p.WithoutPrompt()})
		})
	}
	defer a.begin()()
	report, restart, err := a.takeModel(ctx, o)
	if err == nil && restart {
		err = a.startAgain(ctx, o)
	}
	if err != nil {
		return nil, err
	}
	ctx = context.WithoutCancel(ctx)
	return report, a.changeParked(ctx, o.At, func(r *store.ArmRecord, p coleo.Parked) []coleo.Event {
		var events []coleo.Event
		// Without a restart, SwitchModel has already recorded the change. After a kill, the restart may have been
		// done by an earlier order.
		if r.Trace.Model != o.Model {
			events = choosing.Record(r, coleo.ModelChanged{From: report.From, To: o.Model, Ordered: true}, h.Now())
		}
		q := armrecord.Queue(r)
		p = limit.AfterTry(p, "")
		q.Parked = &p
		r.Queue = &q
		more, _ := armrecord.Continue(r, "it continues with the model "+o.Model, h.Now())
		return append(events, more...)
	})
}

// takeModel changes the model of a parked arm. If the agent CLI takes a model only when it starts,
// takeModel ends the agent CLI and returns true. It also returns true if the agent CLI has ended before.
// Nobody can type into the arm meanwhile.
func (a *arm) takeModel(ctx context.Context, o bus.AlternativeOrder) (bus.ModelReport, bool, error) {
	if !a.typing.TryLock() {
		return bus.ModelReport{}, false, coleo.Errorf(coleo.EBusy, "somebody is typing into arm %s", a.name())
	}
	defer a.typing.Unlock()
	if err := a.notGone(); err != nil {
		return bus.ModelReport{}, false, err
	}
	s, dead := a.liveSession()
	a.mu.Lock()
	doing, same := false, choosing.ModelOf(a.record) == o.Model
	p, err := armrecord.StillParked(&a.record, o.At)
	if err == nil {
		doing = p.Doing != ""
		idle := dead == nil && a.mayFollow(s, s.State(), coleo.Queued{Continues: 1})
		// An earlier alternative has ended the agent CLI and could not start it again.
		ended := dead != nil && p.Failed != "" && a.record.Status == coleo.StatusStopped
		switch {
		case same && !doing:
			err = coleo.Errorf(coleo.EConflict, "the arm has this model already")
		case !idle && !ended && (!doing || dead == nil && !same):
			err = coleo.Errorf(coleo.EBusy, "arm %s is not at rest, or asks something", a.record.Name)
		}
	}
	a.mu.Unlock()
	if err == nil && !doing {
		err = a.changeParked(ctx, o.At, func(r *store.ArmRecord, p coleo.Parked) []coleo.Event {
			p.Doing = o.At.Step
			q := armrecord.Queue(r)
			q.Parked = &p
			r.Queue = &q
			return nil
		})
	}
	if err != nil {
		return bus.ModelReport{}, false, err
	}
	if dead != nil {
		report, err := a.choices.ChooseForStart(ctx, o.Model)
		return report, true, err
	}
	report, err := a.choices.SwitchModel(ctx, bus.ModelOrder{Arm: o.Arm,
		ModelOrder: coleo.ModelOrder{Model: o.Model, Scope: coleo.ScopeArm}})
	if err != nil || !report.Pending {
		return report, false, err
	}
	if o.Spawn == nil {
		return report, false, coleo.Errorf(coleo.EUnsupported, "the agent CLI takes a model only at its start, and cannot "+
			"resume a conversation")
	}
	return report, true, a.endParked(ctx, o.At)
}

// endParked ends the agent CLI of a parked arm, so that startAgain can start it. The arm stays
// parked.
func (a *arm) endParked(ctx context.Context, at bus.ParkedAt) error {
	if err := a.lockOwnFolder(); err != nil {
		return err
	}
	var record store.ArmRecord
	var s coleo.Session
	var dead chan struct{}
	err := a.changeParked(ctx, at, func(r *store.ArmRecord, _ coleo.Parked) []coleo.Event {
		record, s, dead = *r, a.session, a.followEnded
		return nil
	})
	if err != nil {
		return err
	}
	return a.killHeld(ctx, record, s, dead)
}

// startAgain starts the agent CLI of a parked arm again, with another model and the same
// conversation. The caller must call begin first.
func (a *arm) startAgain(ctx context.Context, o bus.AlternativeOrder) error {
	if o.Spawn == nil {
		return coleo.Errorf(coleo.EInvalid, "the order does not say how to start arm %s again", a.name())
	}
	harness, err := a.host.Registry.Get(o.Spawn.Harness)
	if err != nil {
		return err
	}
	if err := a.driving.Take(a.folder(), a.name()); err != nil {
		return err
	}
	return a.start(ctx, harness, *o.Spawn)
}
