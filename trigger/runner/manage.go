package runner

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"coleo.dev"
	"coleo.dev/template"
	"coleo.dev/trigger"
	"coleo.dev/wire"
)

// idLength is the length of a random part of a name or an id, in letters and digits.
const idLength = 6

// errOff returns the error for an action that is refused because triggers are off.
func errOff() error {
	return coleo.Errorf(coleo.EForbidden, "triggers are off, so nothing was started: set enabled = true below "+
		"[triggers] in config.toml, and restart Coleo ('coleo down', 'coleo up')")
}

// List returns all triggers, sorted by name.
func (r *Runner) List(ctx context.Context) ([]trigger.Trigger, error) {
	list, err := r.DB.Triggers(ctx)
	now := r.Now()
	for i, t := range list {
		if t.Kind != trigger.Schedule {
			continue
		}
		if times, err := trigger.ParseTimes(t.Cron, t.Zone); err == nil {
			list[i].Next = times.Next(now)
		}
	}
	return list, err
}

// Enabled reports whether triggers are on.
func (r *Runner) Enabled() bool { return r.On }

// triggerNamed returns the trigger with the given name. It returns ENotFound if there is none.
func (r *Runner) triggerNamed(ctx context.Context, name string) (trigger.Trigger, error) {
	list, err := r.List(ctx)
	if err != nil {
		return trigger.Trigger{}, err
	}
	at := slices.IndexFunc(list, func(t trigger.Trigger) bool { return t.Name == name })
	if at < 0 {
		return trigger.Trigger{}, coleo.Errorf(coleo.ENotFound, "there is no schedule or webhook called %q: "+
			"'coleo schedule list' and 'coleo webhook list' list them", name)
	}
	return list[at], nil
}

// Add creates a trigger. It returns EInvalid for wrong values, EForbidden if the template has no
// sandbox or is not trusted, and EConflict if the name is taken. Add also works while triggers are
// off, because the user may turn them on later.
func (r *Runner) Add(ctx context.Context, q wire.TriggerRequest) (wire.NewTrigger, error) {
	now := r.Now().UTC()
	t := trigger.Trigger{Name: q.Name, Kind: q.Kind, Template: q.Template, Workdir: q.Workdir, Args: q.Args,
		MaxArms: q.MaxArms, Cron: q.Cron, Zone: q.Zone, CatchUp: q.CatchUp, ID: strings.ToLower(rand.Text()), Created: now}
	if t.MaxArms == 0 {
		t.MaxArms = trigger.DefaultArms
	}
	if err := r.check(t); err != nil {
		return wire.NewTrigger{}, err
	}
	if t.Kind == trigger.Schedule {
		times, err := trigger.ParseTimes(t.Cron, t.Zone)
		if err != nil {
			return wire.NewTrigger{}, err
		}
		t.Handled, t.Next = now, times.Next(now)
	}
	made := wire.NewTrigger{Trigger: t, On: r.On}
	if t.Kind == trigger.Webhook {
		var err error
		if made.Secret, err = r.makeSecret(t); err != nil {
			return wire.NewTrigger{}, err
		}
	}
	if err := r.DB.AddTrigger(ctx, t); err != nil {
		_ = os.Remove(r.secretPath(t))
		return wire.NewTrigger{}, err
	}
	r.wakeUp()
	return made, nil
}

// check returns an error if a new trigger could never start an arm.
func (r *Runner) check(t trigger.Trigger) error {
	if err := trigger.CheckName(t.Name); err != nil {
		return err
	}
	switch {
	case t.Kind != trigger.Schedule && t.Kind != trigger.Webhook:
		return coleo.Errorf(coleo.EInvalid, "%q is not a kind of trigger: nothing was added", t.Kind)
	case t.Kind == trigger.Webhook && (t.Cron != "" || t.Zone != "" || t.CatchUp):
		return coleo.Errorf(coleo.EInvalid, "a webhook has no times: nothing was added")
	case !filepath.IsAbs(t.Workdir):
		return coleo.Errorf(coleo.EInvalid, "the work folder %q must be an absolute path: nothing was added", t.Workdir)
	case t.MaxArms < 1 || t.MaxArms > trigger.MostArms:
		return coleo.Errorf(coleo.EInvalid, "a trigger has between 1 and %d live arms: nothing was added", trigger.MostArms)
	}
	fields := map[string]string{}
	if t.Kind == trigger.Webhook {
		open, err := r.openArgs(t)
		if err != nil {
			return err
		}
		for _, name := range open {
			fields[name] = trigger.Quote("")
		}
	}
	_, err := r.spawnRequest(t, fields)
	return err
}

// Remove removes a trigger, and the secret of a webhook. The arms of the trigger continue, and its
// history stays.
func (r *Runner) Remove(ctx context.Context, name string) error {
	t, err := r.triggerNamed(ctx, name)
	if err != nil {
		return err
	}
	if err := r.DB.RemoveTrigger(ctx, name); err != nil || t.Kind != trigger.Webhook {
		return err
	}
	if err := os.Remove(r.secretPath(t)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the webhook %s was removed, but not the file with its secret: %w", name, err)
	}
	return nil
}

// RunNow accepts a run of a schedule, even if the schedule is not due. It returns EForbidden if
// triggers are off, and EConflict if the schedule has its maximum number of live arms.
func (r *Runner) RunNow(ctx context.Context, name string) (trigger.Entry, error) {
	if !r.On {
		return trigger.Entry{}, errOff()
	}
	r.adding.Lock()
	defer r.adding.Unlock()
	t, err := r.triggerNamed(ctx, name)
	if err == nil && t.Kind != trigger.Schedule {
		err = coleo.Errorf(coleo.EInvalid, "%s is a webhook: only a signed request starts an arm of it", name)
	}
	if err != nil {
		return trigger.Entry{}, err
	}
	e, err := r.newRun(ctx, t, nil)
	if err != nil {
		return e, err
	}
	e.ByHand, e.Once = true, "hand/"+e.Arm
	return r.storeRun(ctx, t, e)
}

// storeRun stores a run, and returns it with its id.
func (r *Runner) storeRun(ctx context.Context, t trigger.Trigger, e trigger.Entry) (trigger.Entry, error) {
	added, err := r.DB.AddTriggerEntries(ctx, t, t.Handled, 0, e)
	if err == nil && !added {
		err = coleo.Errorf(coleo.EConflict, "this run was accepted before: nothing more was started")
	}
	if err != nil {
		return e, err
	}
	r.wakeUp()
	return r.DB.TriggerRun(ctx, e.Once)
}

// History returns the newest entries of a trigger, or of all triggers if the name is empty: see
// store.ServeDB.TriggerHistory.
func (r *Runner) History(ctx context.Context, name string, before int64, limit int) ([]trigger.Entry, error) {
	return r.DB.TriggerHistory(ctx, name, before, limit)
}

// newRun returns a new run of a trigger, without storing it. It returns EConflict if the trigger
// has its maximum number of live arms. The caller must hold r.adding, so that no other run begins
// before this run is stored.
func (r *Runner) newRun(ctx context.Context, t trigger.Trigger, fields map[string]string) (trigger.Entry, error) {
	e := trigger.Entry{Trigger: t.Name, Kind: trigger.EntryRun, Time: r.Now().UTC(), State: trigger.RunAccepted}
	now, err := r.triggerNamed(ctx, t.Name) // the trigger is read again to get the present number of live arms
	if err != nil {
		return e, err
	}
	if now.Live >= t.MaxArms {
		return e, coleo.Errorf(coleo.EConflict, "%s has %d live arms, and at most %d: nothing was started; end some with "+
			"'coleo arm kill', or make the trigger again with a larger --max-arms", t.Name, now.Live, t.MaxArms)
	}
	q, err := r.spawnRequest(t, fields)
	if err != nil {
		return e, err
	}
	e.ArmName, e.Arm, e.Run = q.Name, "arm-"+strings.ToLower(rand.Text()[:2*idLength]), rand.Text()
	e.Request, err = json.Marshal(q)
	return e, err
}

// spawnRequest returns the request to start an arm of a trigger. extraArgs contains the arguments
// of the prompt that the user has left open. All other values come from the trigger and the
// template.
func (r *Runner) spawnRequest(t trigger.Trigger, extraArgs map[string]string) (wire.SpawnRequest, error) {
	q := wire.SpawnRequest{Name: t.Name + "-" + strings.ToLower(rand.Text()[:idLength]), Workdir: t.Workdir,
		Template: t.Template, Labels: coleo.Labels{trigger.Label: t.Name}}
	found, err := r.usableTemplate(t.Template, t.Workdir)
	if err != nil {
		return q, err
	}
	args := maps.Clone(extraArgs)
	if args == nil {
		args = map[string]string{}
	}
	maps.Copy(args, t.Args)
	err = found.Fill(&q, args)
	return q, err
}

// templateKey names a template for a work folder.
type templateKey struct{ name, workdir string }

// readTemplate is like Config.Template, with a time limit. If an earlier reading of this template
// still hangs, readTemplate returns EUnavailable at once. Nothing can end a reading that hangs in
// the kernel, so its goroutine stays until the file system answers.
func (r *Runner) readTemplate(name, workdir string) (template.Template, error) {
	key := templateKey{name, workdir}
	silent := coleo.Errorf(coleo.EUnavailable, "the template %s for %s could not be read within %v, perhaps because a "+
		"file system does not answer: nothing was started", name, workdir, r.bounds.template)
	r.mu.Lock()
	hangs := r.hung[key]
	r.mu.Unlock()
	if hangs {
		return template.Template{}, silent
	}
	var found template.Template
	var err error
	ended := make(chan struct{})
	go func() {
		found, err = r.Template(name, workdir)
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.hung, key)
		close(ended)
	}()
	limit := time.NewTimer(r.bounds.template)
	defer limit.Stop()
	select {
	case <-ended:
		return found, err
	case <-limit.C:
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-ended:
		return found, err
	default:
		r.hung[key] = true
		return template.Template{}, silent
	}
}

// usableTemplate is like readTemplate, but returns an error if triggers cannot start arms from the template.
func (r *Runner) usableTemplate(name, workdir string) (template.Template, error) {
	found, err := r.readTemplate(name, workdir)
	if err != nil {
		return found, err
	}
	return found, checkUsable(name, found)
}

// checkUsable returns an error if triggers cannot start arms from a template.
func checkUsable(name string, t template.Template) error {
	switch {
	case !(&coleo.Sandbox{Kind: t.Sandbox}).On():
		return coleo.Errorf(coleo.EForbidden, "the template %s has no sandbox, and nobody watches the arms of a trigger: "+
			"add sandbox = %q to the template; nothing was started", name, coleo.SandboxBwrap)
	case strings.TrimSpace(t.Prompt) == "":
		return coleo.Errorf(coleo.EInvalid, "the template %s has no prompt, so an arm of it would do nothing: "+
			"nothing was started", name)
	}
	return nil
}
