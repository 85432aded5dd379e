package commands

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/bus/bustest"
)

const host = "h"

// fleet is one arm whose host agent answers on a real bus. It records the steps of each command in
// one list.
type fleet struct {
	*Commands
	config Config

	mu    sync.Mutex
	steps []string
}

func (f *fleet) note(step string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.steps = append(f.steps, step)
}

func (f *fleet) noted() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.steps)
}

// newFleet returns the commands for the arm "ada". The arm's host agent answers each order by calling the
// function `answer`.
func newFleet(t *testing.T, answer func(ctx context.Context, op bus.Op) (any, error)) *fleet {
	t.Helper()
	testBus, f := bustest.New(t), &fleet{}
	err := testBus.Host().Serve(t.Context(), host, func(ctx context.Context, op bus.Op, _ json.RawMessage) (any, error) {
		f.note("order " + string(op))
		return answer(ctx, op)
	})
	if err != nil {
		t.Fatal(err)
	}
	conn := testBus.Serve()
	f.config = Config{
		Find: func(context.Context, string) (coleo.Arm, error) {
			return coleo.Arm{ID: "arm-1", Name: "ada", AgentID: host}, nil
		},
		Ask: func(ctx context.Context, arm coleo.Arm, op bus.Op, limit time.Duration, in, out any) error {
			ctx, cancel := context.WithTimeout(ctx, limit)
			defer cancel()
			return conn.Ask(ctx, arm.AgentID, op, in, out)
		},
		Permit:             func(context.Context, coleo.Arm) error { f.note("permit"); return nil },
		CatchUp:            func(_ context.Context, host string) { f.note("read " + host) },
		SettledOn:          func(_ context.Context, arm coleo.Arm) string { return arm.AgentID },
		RequireFileSupport: func(string) error { return nil },
	}
	f.Commands = New(f.config)
	return f
}

func done(context.Context, bus.Op) (any, error) { return nil, nil }

// delivered describes what an error reports about the delivery of a prompt.
func delivered(err error) string {
	switch e, ok := err.(*coleo.Error); {
	case !ok || e.Delivered == nil:
		return "unknown"
	case *e.Delivered:
		return "yes"
	}
	return "no"
}

func TestAPermitComesBeforeTheKeysAndTheLogIsReadAfterThem(t *testing.T) {
	t.Parallel()
	f := newFleet(t, done)
	if err := f.Respond(t.Context(), "ada", "", coleo.Decision{}, ""); err != nil {
		t.Fatal(err)
	}
	if got, want := f.noted(), []string{"permit", "order respond", "read h"}; !slices.Equal(got, want) {
		t.Errorf("an answer: %q, want %q", got, want)
	}
	f.steps = nil
	if _, err := f.Queue(t.Context(), "ada", coleo.QueueOrder{}); err != nil {
		t.Fatal(err)
	}
	if got, want := f.noted(), []string{"order queue", "read h"}; !slices.Equal(got, want) {
		t.Errorf("a look at the queue: %q, want %q, because nothing is typed", got, want)
	}
}

// If the arm moves during a command, the log of its new host can contain the command's events, so
// both logs must be read.
func TestTheLogOfTheNextHostIsReadToo(t *testing.T) {
	t.Parallel()
	f := newFleet(t, done)
	f.config.SettledOn = func(context.Context, coleo.Arm) string { return "next" }
	if _, err := New(f.config).Kill(t.Context(), "ada"); err != nil {
		t.Fatal(err)
	}
	if got, want := f.noted(), []string{"order kill", "read h", "read next"}; !slices.Equal(got, want) {
		t.Errorf("a kill: %q, want %q", got, want)
	}
}

func TestNothingIsOrderedWithoutAPermit(t *testing.T) {
	t.Parallel()
	f := newFleet(t, done)
	f.config.Permit = func(context.Context, coleo.Arm) error { return coleo.Errorf(coleo.EUnproven, "no permit") }
	c := New(f.config)
	_, err := c.Prompt(t.Context(), "ada", coleo.Prompt{Text: "hello"}, "")
	if coleo.ErrorCode(err) != coleo.EUnproven || delivered(err) != "no" {
		t.Errorf("a prompt: %v, delivered: %s, want %s and no", err, delivered(err), coleo.EUnproven)
	}
	if err := c.Input(t.Context(), "ada", "", []byte("x")); coleo.ErrorCode(err) != coleo.EUnproven {
		t.Errorf("keys: %v, want %s", err, coleo.EUnproven)
	}
	if got := f.noted(); len(got) != 0 {
		t.Errorf("without a permit: %q, want nothing", got)
	}
}

// A caller may repeat a prompt only if the error proves that the prompt was not delivered.
func TestOnlyAProofSaysThatAPromptWasNotDelivered(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		answer error // the error of the host agent
		ask    error // if not nil, Config.Ask returns this error without asking a host agent
		want   string
	}{
		"the host agent refuses it":                  {answer: coleo.Errorf(coleo.EBusy, "working"), want: "no"},
		"the host agent has typed a part of it":      {answer: coleo.Errorf(coleo.EUnsettled, "half"), want: "unknown"},
		"nothing proves that it has arrived":         {answer: coleo.Errorf(coleo.EPromptLost, "lost"), want: "unknown"},
		"the host agent has an error of its own":     {answer: coleo.Errorf(coleo.EUnavailable, "disk"), want: "unknown"},
		"the host agent is away, so nothing is sent": {ask: NotSent(coleo.Errorf(coleo.EUnavailable, "away")), want: "no"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, func(context.Context, bus.Op) (any, error) { return nil, c.answer })
			if c.ask != nil {
				f.config.Ask = func(context.Context, coleo.Arm, bus.Op, time.Duration, any, any) error { return c.ask }
			}
			_, err := New(f.config).Prompt(t.Context(), "ada", coleo.Prompt{Text: "hello"}, "")
			if err == nil || delivered(err) != c.want {
				t.Errorf("%v says about the delivery: %s, want %s", err, delivered(err), c.want)
			}
		})
	}
}

func TestAPromptWithoutAReportMayBeDelivered(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	f := newFleet(t, func(ctx context.Context, _ bus.Op) (any, error) {
		cancel() // as if the caller no longer waited
		<-ctx.Done()
		return nil, ctx.Err()
	})
	_, err := f.Prompt(ctx, "ada", coleo.Prompt{Text: "hello"}, "")
	if !bus.IsUnanswered(err) || delivered(err) != "unknown" {
		t.Errorf("%v says about the delivery: %s, want unknown", err, delivered(err))
	}
}

func TestFilesGoOnlyToAHostAgentThatTakesThem(t *testing.T) {
	t.Parallel()
	f := newFleet(t, done)
	f.config.RequireFileSupport = func(host string) error {
		return coleo.Errorf(coleo.EUnsupported, "%s is too old", host)
	}
	c := New(f.config)
	_, err := c.Prompt(t.Context(), "ada", coleo.Prompt{Text: "hello", Files: []string{"/a.png"}}, "")
	if coleo.ErrorCode(err) != coleo.EUnsupported || !strings.HasPrefix(err.Error(), host) || delivered(err) != "no" {
		t.Errorf("a prompt with a file: %v, delivered: %s", err, delivered(err))
	}
	if got := f.noted(); len(got) != 0 {
		t.Errorf("a prompt with a file: %q, want nothing", got)
	}
	if _, err := c.Prompt(t.Context(), "ada", coleo.Prompt{Text: "hello"}, ""); err != nil {
		t.Errorf("a prompt without a file: %v", err)
	}
}
