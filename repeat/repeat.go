// Package repeat carries out tasks again and again, each at its own interval. It is the
// one place for work that no event starts: keeping a database small, looking for arms to
// hand over, and the like.
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

// Task is work that is carried out again and again.
type Task struct {
	ID    string
	Every time.Duration // from the end of one time to the beginning of the next
	// Immediate means that the first time comes at once. Otherwise it comes after Every.
	Immediate bool
	// Do carries out the task once. Its context ends when the task is removed. An error is
	// logged, and the task goes on.
	Do func(context.Context) error
	// Shutdown, if it is set, is called once, after the last Do has returned.
	Shutdown func()
}

// Registry has the tasks that are being repeated. It is safe for concurrent use.
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

// Add begins to repeat a task, until ctx ends or the task is removed. It returns EConflict
// if a task with this id is being repeated. It returns EInvalid for a task without an id,
// an interval or Do. It returns EUnavailable after StopAll.
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

// Remove ends a task and waits until it has ended. It returns ENotFound if there is no
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

// StopAll ends all tasks, waits until they have ended, and takes no more. A second call
// does nothing.
func (r *Registry) StopAll() {
	r.mu.Lock()
	r.stopped = true
	all := r.tasks
	r.tasks = map[string]*running{}
	r.mu.Unlock()
	for _, one := range all {
		one.stop() // all at the same time, and then wait for each
	}
	for _, one := range all {
		<-one.ended
	}
}

// List returns the tasks that are being repeated, sorted by id.
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
