// Package repeat runs tasks periodically, each at its own interval. Coleo uses it for all work that
// no event starts, for example to keep a database small or to look for arms to hand over.
package repeat

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"coleo.dev"
)

// Task is work that runs periodically.
type Task struct {
	ID    string
	Every time.Duration // the time from the end of one call of Do to the beginning of the next
	// Immediate makes the first call of Do begin at once. Otherwise the first call begins after the
	// interval Every.
	Immediate bool
	// Do performs the task once. Its context ends when the task is removed. The Registry logs an
	// error of Do, and continues with the task.
	Do func(context.Context) error
	// Shutdown is called once, after the last call of Do has returned. It can be nil.
	Shutdown func()
}

// Registry runs tasks periodically. It is safe for concurrent use.
type Registry struct {
	log *slog.Logger

	mu      sync.Mutex
	stopped bool
	tasks   map[string]*running
}

type running struct {
	task  Task
	stop  context.CancelFunc
	ended chan struct{}
}

// New returns a Registry without tasks.
func New(log *slog.Logger) *Registry {
	return &Registry{log: log, tasks: map[string]*running{}}
}

// Add starts a task. The task runs until ctx ends or the task is removed. Add returns EInvalid for
// a task without an id, an interval or Do. It returns EConflict if the id is in use, and
// EUnavailable after StopAll.
func (r *Registry) Add(ctx context.Context, t Task) error {
	if t.ID == "" || t.Every <= 0 || t.Do == nil {
		return coleo.Errorf(coleo.EInvalid, "repeat %q every %s: a task needs an id, an interval and work to do", t.ID,
			t.Every)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped {
		return coleo.Errorf(coleo.EUnavailable, "repeat %q: all tasks were stopped", t.ID)
	}
	if r.tasks[t.ID] != nil {
		return coleo.Errorf(coleo.EConflict, "a task called %q is repeated already", t.ID)
	}
	ctx, stop := context.WithCancel(ctx)
	one := &running{task: t, stop: stop, ended: make(chan struct{})}
	r.tasks[t.ID] = one
	go r.run(ctx, one)
	return nil
}

func (r *Registry) run(ctx context.Context, one *running) {
	defer close(one.ended)
	if one.task.Shutdown != nil {
		defer one.task.Shutdown()
	}
	wait := one.task.Every
	if one.task.Immediate {
		wait = 0
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if err := one.task.Do(ctx); err != nil && ctx.Err() == nil {
			r.log.Warn("a repeated task has failed", "task", one.task.ID, "error", err)
		}
		timer.Reset(one.task.Every)
	}
}

// Remove stops a task and waits until it has ended. It returns ENotFound if there is no
// such task.
func (r *Registry) Remove(id string) error {
	r.mu.Lock()
	one := r.tasks[id]
	delete(r.tasks, id)
	r.mu.Unlock()
	if one == nil {
		return coleo.Errorf(coleo.ENotFound, "no task called %q is repeated", id)
	}
	one.end()
	return nil
}

func (one *running) end() {
	one.stop()
	<-one.ended
}

// StopAll stops all tasks and waits until they have ended. After that, Add accepts no
// tasks. A second call does nothing.
func (r *Registry) StopAll() {
	r.mu.Lock()
	r.stopped = true
	all := r.tasks
	r.tasks = map[string]*running{}
	r.mu.Unlock()
	for _, one := range all {
		one.stop() // this cancels all tasks before the first wait, so that they end at the same time
	}
	for _, one := range all {
		<-one.ended
	}
}

// List returns all tasks, sorted by id.
func (r *Registry) List() []Task {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []Task
	for _, one := range r.tasks {
		out = append(out, one.task)
	}
	slices.SortFunc(out, func(a, b Task) int { return strings.Compare(a.ID, b.ID) })
	return out
}
