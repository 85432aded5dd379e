package fanout

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"coleo.dev"
	"coleo.dev/api/apiclient"
	"coleo.dev/wire"
)

// startAll starts the arms, some of them at the same time, and puts the task into each arm's queue.
func (f *flags) startAll(ctx context.Context, client *apiclient.Client, id, base string) []armStart {
	out := make([]armStart, f.count)
	turn := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for i := range out {
		q := f.request(i, id, base)
		all.Go(func() {
			turn <- struct{}{}
			defer func() { <-turn }()
			out[i] = start(ctx, client, q, f.q.InitialPrompt)
			out[i].explainCancel(ctx, id)
		})
	}
	all.Wait()
	return out
}

// request returns the request to start arm number i, counted from 0.
func (f *flags) request(i int, id, base string) wire.SpawnRequest {
	q, word := f.q, "arm"
	if n := len(f.harnesses); n > 0 {
		q.Harness = f.harnesses[i%n]
		word = q.Harness
	}
	q.Name = fmt.Sprintf("fan-%s-%s", id, word)
	if f.count > max(1, len(f.harnesses)) {
		q.Name += fmt.Sprintf("-%d", i/max(1, len(f.harnesses))+1)
	}
	q.Worktree = &wire.Worktree{Base: base}
	q.InitialPrompt = ""
	q.Labels = coleo.Labels{label: id}
	for key, value := range f.q.Labels {
		q.Labels[key] = value
	}
	return q
}

// start starts an arm and puts the task into the arm's queue, where it waits until the arm is
// ready. The queue survives a kill of serve.
func start(ctx context.Context, client *apiclient.Client, q wire.SpawnRequest, task string) armStart {
	out := armStart{Arm: q.Name, Harness: q.Harness}
	if ctx.Err() != nil {
		out.Error = coleo.Errorf(coleo.EInternal, "%w", ctx.Err())
		return out
	}
	reply, err := client.Spawn(ctx, q)
	if err == nil {
		out.Started, out.Harness = true, reply.Arm.Harness
		var report coleo.QueueReport
		if report, err = client.FollowUp(ctx, reply.Arm.ID, task, nil); err == nil {
			out.Run = report.ID
		}
	}
	if err != nil && !errors.As(err, &out.Error) {
		out.Error = coleo.Errorf(coleo.EInternal, "%w", err)
	}
	if err != nil && !out.Started && !apiclient.IsUnsent(err) {
		// Serve has not replied. It writes the arm's row before it orders the start, and deletes the row if the start
		// is refused. So without a row, the arm was not started.
		_, lookErr := client.Arm(context.WithoutCancel(ctx), q.Name)
		out.Unknown = coleo.ErrorCode(lookErr) != coleo.ENotFound
	}
	return out
}

// explainCancel replaces the error of a cancelled start with an error for people.
func (s *armStart) explainCancel(ctx context.Context, id string) {
	if s.Error == nil || ctx.Err() == nil || !errors.Is(s.Error, context.Canceled) {
		return
	}
	tells := "'coleo fan-out show " + id + "' shows it"
	words := "cancelled before the arm was started"
	switch {
	case s.Unknown:
		words = "cancelled meanwhile, and nobody knows whether the arm was started: " + tells
	case s.Started:
		words = "cancelled meanwhile, and nobody knows whether the task is in its queue: " + tells
	}
	s.Error = coleo.Errorf(coleo.EInternal, "%s", words)
}
