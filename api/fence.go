package api

import (
	"context"
	"iter"
	"net/http"
	"slices"
	"strings"
	"time"

	"coleo.dev"
	"coleo.dev/api/token"
	"coleo.dev/display"
	"coleo.dev/graph"
	"coleo.dev/wire"
)

// A fence is the brain as callers with an operator token see it. For all other callers, the fence
// passes every call to the brain unchanged.
//
// If a token reaches only some arms, the fence removes the other arms and their runs from lists.
// For methods about one arm, Server.withArm has already checked that the token reaches the arm. The
// methods in tokens.go stop a caller with a token from answering the dialogs of some arms.
type fence struct {
	Brain
	tokens *token.Tokens
}

// limitsOf returns the caller's operator token, and true if the token reaches only some arms.
func limitsOf(ctx context.Context) (coleo.OperatorToken, bool) {
	o := operatorOf(ctx)
	if o == nil || !o.token.Limited() {
		return coleo.OperatorToken{}, false
	}
	return o.token, true
}

// reaches reports whether the caller reaches the arm with the given id. A token with labels does
// not reach a removed arm, because a removed arm has no labels.
func (f fence) reaches(ctx context.Context, id string) bool {
	t, limited := limitsOf(ctx)
	if !limited {
		return true
	}
	if len(t.Labels) == 0 {
		return t.Reaches(id, nil)
	}
	arm, err := f.Arm(ctx, id)
	return err == nil && arm.ID == id && t.Reaches(id, arm.Labels)
}

// onlyReachable returns those elements of a list whose arms the caller reaches. `arm` returns the id of an
// element's arm.
func onlyReachable[T any](ctx context.Context, f fence, list []T, arm func(T) string) []T {
	if _, limited := limitsOf(ctx); !limited {
		return list
	}
	known := map[string]bool{}
	return slices.DeleteFunc(slices.Clone(list), func(one T) bool {
		id := arm(one)
		if _, ok := known[id]; !ok {
			known[id] = f.reaches(ctx, id)
		}
		return !known[id]
	})
}

// notReachable returns the error for an arm or a run that the caller does not reach. The error is the same
// as for an arm or a run that does not exist. An example of `what` is "arm NAME".
func notReachable(t coleo.OperatorToken, what string) error {
	return coleo.Errorf(coleo.ENotFound, "the operator token %q reaches no %s", t.Name, what)
}

// reachableArm returns the arm with the given id or name. It returns ENotFound if the caller does not
// reach the arm.
func (f fence) reachableArm(ctx context.Context, word string) (coleo.Arm, error) {
	arm, err := f.Arm(ctx, word)
	t, limited := limitsOf(ctx)
	if limited && (coleo.ErrorCode(err) == coleo.ENotFound || err == nil && !t.Reaches(arm.ID, arm.Labels)) {
		return coleo.Arm{}, notReachable(t, "arm "+word)
	}
	return arm, err
}

// withArm checks that a limited token reaches the arm in the path of a request, and otherwise
// returns ENotFound. It replaces the arm's name in the path with the arm's id, so that the route
// uses the arm that was checked. One exception: a token with labels can start an arm that does not
// exist yet.
func (s *Server) withArm(o *operator, route string, r *http.Request) (*http.Request, error) {
	if !o.token.Limited() {
		return r, nil
	}
	const place = 3 // the index of the arm after strings.Split of /api/arms/{id} or /ws/terminal/{id}
	parts := strings.Split(r.URL.Path, "/")
	if r.URL.RawPath != "" || len(parts) <= place {
		return r, coleo.Errorf(coleo.EInvalid, "name the arm as the list of arms does")
	}
	f := fence{s.brain, s.tokens}
	arm, err := f.reachableArm(r.Context(), parts[place])
	if coleo.ErrorCode(err) == coleo.ENotFound && route == spawnRoute && len(o.token.Arms) == 0 {
		if _, err := f.Arm(r.Context(), parts[place]); coleo.ErrorCode(err) == coleo.ENotFound {
			return r, nil // the token may start this arm, because it is new
		}
	}
	if err != nil {
		return r, err
	}
	parts[place] = arm.ID
	out := r.Clone(r.Context())
	out.URL.Path = strings.Join(parts, "/")
	return out, nil
}

// spawnRoute is the route that starts an arm, and first creates the arm if necessary.
const spawnRoute = "POST /api/arms/{id}/spawn"

func (f fence) Arms(ctx context.Context, all bool) ([]coleo.Arm, error) {
	arms, err := f.Brain.Arms(ctx, all)
	if t, limited := limitsOf(ctx); limited {
		arms = slices.DeleteFunc(slices.Clone(arms), func(a coleo.Arm) bool { return !t.Reaches(a.ID, a.Labels) })
	}
	return arms, err
}

func (f fence) Suspensions(ctx context.Context, arm string) ([]coleo.Suspension, error) {
	if arm != "" {
		if _, err := f.reachableArm(ctx, arm); err != nil {
			return nil, err
		}
	}
	waiting, err := f.Brain.Suspensions(ctx, arm)
	return onlyReachable(ctx, f, waiting, func(s coleo.Suspension) string { return s.Arm }), err
}

func (f fence) FindRun(ctx context.Context, id string) (coleo.Run, error) {
	run, err := f.Brain.FindRun(ctx, id)
	t, limited := limitsOf(ctx)
	if limited && (coleo.ErrorCode(err) == coleo.ENotFound || err == nil && !f.reaches(ctx, run.Arm)) {
		return coleo.Run{}, notReachable(t, "run "+id)
	}
	return run, err
}

// WaitRun checks only after the end of the run whether the caller reaches the run. It cannot check
// earlier, because the run of a queued prompt does not exist yet.
func (f fence) WaitRun(ctx context.Context, run string) (coleo.RunEnd, error) {
	end, err := f.Brain.WaitRun(ctx, run)
	if _, limited := limitsOf(ctx); limited && err == nil {
		if _, err := f.FindRun(ctx, run); err != nil {
			return coleo.RunEnd{}, err
		}
	}
	return end, err
}

func (f fence) Graph(ctx context.Context, run string) (graph.Document, error) {
	if _, limited := limitsOf(ctx); limited {
		if _, err := f.FindRun(ctx, run); err != nil {
			return graph.Document{}, err
		}
	}
	return f.Brain.Graph(ctx, run)
}

// Runs reads pages until it finds a run that the caller reaches. It returns an empty page only at the end of the
// list, because callers stop at an empty page.
func (f fence) Runs(ctx context.Context, q wire.RunFilter) ([]coleo.Run, string, error) {
	if _, limited := limitsOf(ctx); limited && q.Arm != "" {
		if _, err := f.reachableArm(ctx, q.Arm); err != nil {
			return nil, "", err
		}
	}
	for {
		runs, next, err := f.Brain.Runs(ctx, q)
		some := onlyReachable(ctx, f, runs, func(r coleo.Run) string { return r.Arm })
		if err != nil || len(some) > 0 || len(runs) == 0 {
			return some, next, err
		}
		q.Before = next
	}
}

// checkFilter returns ENotFound if the caller is limited and a filter names an arm or a run that the
// caller does not reach.
func (f fence) checkFilter(ctx context.Context, q wire.EventFilter) error {
	if _, limited := limitsOf(ctx); !limited {
		return nil
	}
	if q.Arm != "" {
		if _, err := f.reachableArm(ctx, q.Arm); err != nil {
			return err
		}
	}
	if q.Run != "" {
		if _, err := f.FindRun(ctx, q.Run); err != nil {
			return err
		}
	}
	return nil
}

func (f fence) WholeFilter(ctx context.Context, q wire.EventFilter) (wire.EventFilter, error) {
	if err := f.checkFilter(ctx, q); err != nil {
		return q, err
	}
	return f.Brain.WholeFilter(ctx, q)
}

// Like Runs, Events reads pages until it finds an event that the caller reaches.
func (f fence) Events(ctx context.Context, q wire.EventFilter) ([]coleo.Event, string, error) {
	if err := f.checkFilter(ctx, q); err != nil {
		return nil, "", err
	}
	for {
		events, next, err := f.Brain.Events(ctx, q)
		some := onlyReachable(ctx, f, events, func(e coleo.Event) string { return e.Arm })
		if err != nil || len(some) > 0 || len(events) == 0 {
			return some, next, err
		}
		q.After = next
	}
}

func (f fence) Follow(ctx context.Context, q wire.EventFilter, beat time.Duration) (iter.Seq[wire.Update], error) {
	if err := f.checkFilter(ctx, q); err != nil {
		return nil, err
	}
	updates, err := f.Brain.Follow(ctx, q, beat)
	return f.onlyUpdates(ctx, updates, nil), err
}

func (f fence) Subscribe(ctx context.Context, after string) (iter.Seq[wire.Update], error) {
	updates, err := f.Brain.Subscribe(ctx, after)
	var present []coleo.Arm
	if _, limited := limitsOf(ctx); limited && err == nil {
		present, err = f.Arms(ctx, true)
	}
	return f.onlyUpdates(ctx, updates, present), err
}

// onlyUpdates removes the updates about arms that the caller does not reach. It passes on the
// removal of an arm if it has passed on the arm's last update, or if the token names the arm. It also does so if the
// arm is one of `present`, the arms that the caller reaches now.
func (f fence) onlyUpdates(ctx context.Context, updates iter.Seq[wire.Update],
	present []coleo.Arm) iter.Seq[wire.Update] {
	t, limited := limitsOf(ctx)
	if !limited || updates == nil {
		return updates
	}
	return func(yield func(wire.Update) bool) {
		shown := map[string]bool{}
		for _, arm := range present {
			shown[arm.ID] = true
		}
		for u := range updates {
			pass := true
			switch {
			case u.Arm != nil:
				pass = t.Reaches(u.Arm.ID, u.Arm.Labels)
				shown[u.Arm.ID] = pass
			case u.Event != nil:
				pass = f.reaches(ctx, u.Event.Arm)
			case u.Removed != "":
				pass = shown[u.Removed] || len(t.Labels) == 0 && t.Reaches(u.Removed, nil)
			}
			if pass && !yield(u) {
				return
			}
		}
	}
}

func (f fence) Displays(ctx context.Context) iter.Seq[display.Snapshot] {
	shown := f.Brain.Displays(ctx)
	if _, limited := limitsOf(ctx); !limited {
		return shown
	}
	return func(yield func(display.Snapshot) bool) {
		for s := range shown {
			if f.reaches(ctx, s.Arm) && !yield(s) {
				return
			}
		}
	}
}
