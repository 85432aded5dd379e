package runner

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"coleo.dev"
	"coleo.dev/trigger"
)

// refusedEvery is how long refused requests are counted together. A flood of refused requests therefore
// causes only one write to the disk in this time.
const refusedEvery = 5 * time.Second

// secretPath returns the path of the file with the secret of a webhook.
func (r *Runner) secretPath(t trigger.Trigger) string { return filepath.Join(r.Secrets, t.ID+".key") }

// makeSecret creates a random secret for a new webhook, and writes it to a file that only the user can
// read.
func (r *Runner) makeSecret(t trigger.Trigger) (string, error) {
	secret := strings.ToLower(rand.Text() + rand.Text())
	if err := os.MkdirAll(r.Secrets, 0o700); err != nil {
		return "", fmt.Errorf("store the secret of the webhook %s: %w", t.Name, err)
	}
	f, err := os.OpenFile(r.secretPath(t), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", fmt.Errorf("store the secret of the webhook %s: %w", t.Name, err)
	}
	_, err = f.WriteString(secret)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return "", fmt.Errorf("store the secret of the webhook %s: %w", t.Name, err)
	}
	return secret, nil
}

// webhookNamed returns a webhook and its secret. If there is no such webhook, it returns a random secret
// that nobody knows. Deliver then needs the same time as for a wrong signature, so a stranger cannot find
// out which webhooks exist.
func (r *Runner) webhookNamed(ctx context.Context, name string) (trigger.Trigger, []byte, error) {
	t, err := r.triggerNamed(ctx, name)
	switch {
	case err == nil && t.Kind == trigger.Webhook:
		secret, err := os.ReadFile(r.secretPath(t))
		if err != nil {
			err = coleo.Errorf(coleo.EInternal, "the secret of the webhook %s is missing: nothing was started; "+
				"remove the webhook, and create it again", name)
		}
		return t, secret, err
	case err == nil || coleo.ErrorCode(err) == coleo.ENotFound:
		return trigger.Trigger{}, []byte(rand.Text()), nil
	}
	return trigger.Trigger{}, nil, err
}

// Deliver accepts a request to a webhook, and returns the run of the request after the run is on the disk.
// It returns the errors of trigger.Verify and trigger.Fields, and these:
//   - EForbidden if triggers are off, or if the template is no longer usable
//   - EConflict if a request with this id was accepted before, or if the webhook has its maximum
//     number of live arms
//   - EBusy if the webhook has had too many requests in the last minute
func (r *Runner) Deliver(ctx context.Context, name string, d trigger.Delivery) (trigger.Entry, error) {
	t, secret, err := r.webhookNamed(ctx, name)
	var e trigger.Entry
	switch {
	case err != nil:
	case !r.On:
		err = errOff()
	default:
		if err = trigger.Verify(secret, d, r.Now()); err == nil {
			e, err = r.acceptDelivery(ctx, t, d)
		}
	}
	if err != nil {
		r.countRefusal(t.Name, err)
	}
	return e, err
}

// acceptDelivery does the work of Deliver for a request that is known to be genuine.
func (r *Runner) acceptDelivery(ctx context.Context, t trigger.Trigger, d trigger.Delivery) (trigger.Entry, error) {
	r.adding.Lock()
	defer r.adding.Unlock()
	once := "hook/" + t.ID + "/" + d.ID
	switch old, err := r.DB.TriggerRun(ctx, once); {
	case err == nil:
		return trigger.Entry{}, coleo.Errorf(coleo.EConflict, "the request %s was accepted before, and its run is %s: "+
			"nothing more was started; a new request needs a new id", d.ID, old.State)
	case coleo.ErrorCode(err) != coleo.ENotFound:
		return trigger.Entry{}, err
	}
	left, ok := r.buckets[t.ID].Take(r.Now())
	if r.buckets[t.ID] = left; !ok {
		return trigger.Entry{}, coleo.Errorf(coleo.EBusy, "the webhook %s has had too many requests in the last minute: "+
			"nothing was started; send it again later", t.Name)
	}
	names, err := r.openArgs(t)
	if err != nil {
		return trigger.Entry{}, err
	}
	fields, err := trigger.Fields(d.Body, names)
	if err != nil {
		return trigger.Entry{}, err
	}
	if err := r.checkNeededFields(t, fields); err != nil {
		return trigger.Entry{}, err
	}
	e, err := r.newRun(ctx, t, fields)
	if err != nil {
		return e, err
	}
	e.Key, e.Once = d.ID, once
	return r.storeRun(ctx, t, e)
}

// checkNeededFields returns EInvalid if a request lacks a field that the template needs.
func (r *Runner) checkNeededFields(t trigger.Trigger, fields map[string]string) error {
	found, err := r.readTemplate(t.Template, t.Workdir)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(found.Args)) {
		_, given := t.Args[name]
		_, sent := fields[name]
		if given || sent || found.Args[name].Default != nil {
			continue
		}
		what := ""
		if found.Args[name].Description != "" {
			what = " (" + found.Args[name].Description + ")"
		}
		return coleo.Errorf(coleo.EInvalid, "the body lacks the field %q%s, which the webhook %s needs: nothing was started",
			name, what, t.Name)
	}
	return nil
}

// openArgs returns the names of the template's arguments that the user has left open. Each request gives
// their values.
func (r *Runner) openArgs(t trigger.Trigger) ([]string, error) {
	found, err := r.readTemplate(t.Template, t.Workdir)
	if err != nil {
		return nil, err
	}
	names := slices.Sorted(maps.Keys(found.Args))
	return slices.DeleteFunc(names, func(name string) bool { _, given := t.Args[name]; return given }), nil
}

// mostReasons is the largest number of reasons that are counted separately within refusedEvery. A reason
// can name a request or a field, so a flood could otherwise fill the history with its reasons.
const mostReasons = 20

// manyReasons is the beginning of the reason under which Coleo counts all further refused requests
// together.
const manyReasons = "further reasons, such as: "

// refusal is the key under which refused requests are counted together.
type refusal struct {
	webhook string // the name of the webhook; "" for a webhook that does not exist
	why     string // the reason; "" for the requests that are no longer counted separately
}

// countRefusal counts a refused request by its reason. Run writes the counts to the history later.
func (r *Runner) countRefusal(webhook string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.refusals) == 0 {
		time.AfterFunc(refusedEvery, r.wakeUp)
	}
	key, why := refusal{webhook, err.Error()}, err.Error()
	e, known := r.refusals[key]
	if !known && len(r.refusals) >= mostReasons {
		key.why, why = "", manyReasons+why
		e, known = r.refusals[key]
	}
	if !known {
		e = trigger.Entry{Trigger: webhook, Kind: trigger.EntryRefused, Time: r.Now().UTC(), Why: why}
	}
	e.Count++
	r.refusals[key] = e
}

// writeRefused writes the counts of refused requests to the history.
func (r *Runner) writeRefused(ctx context.Context) {
	r.mu.Lock()
	all := r.refusals
	r.refusals = map[refusal]trigger.Entry{}
	r.mu.Unlock()
	inOrder := slices.SortedFunc(maps.Values(all), func(a, b trigger.Entry) int {
		return cmp.Or(a.Time.Compare(b.Time), strings.Compare(a.Why, b.Why))
	})
	for _, e := range inOrder {
		if err := r.DB.AddRefused(ctx, e); err != nil {
			r.Log.Warn("write down refused requests", "webhook", e.Trigger, "count", e.Count, "why", e.Why, "error", err)
		}
	}
}
