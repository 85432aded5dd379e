package bus

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"coleo.dev"
)

// socket returns a path for a bus's socket, in a new folder.
func socket(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "bus.sock")
}

func newKey(t *testing.T) Key {
	t.Helper()
	key, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// pair starts a bus, and returns a connection of serve and a connection of a host agent.
func pair(t *testing.T) (serve, host *Conn) {
	t.Helper()
	path, key := socket(t), newKey(t)
	s, err := Listen(path, key, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	if serve, err = s.Dial("serve"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(serve.Close)
	if host, err = Dial(path, key, "host"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(host.Close)
	return serve, host
}

func TestACommandIsAnsweredWithItsReportOrItsError(t *testing.T) {
	t.Parallel()
	serve, host := pair(t)
	err := host.Serve(t.Context(), "host.one", func(_ context.Context, op Op, data json.RawMessage) (any, error) {
		var o ArmOrder
		if err := json.Unmarshal(data, &o); err != nil {
			return nil, err
		}
		if o.Arm == "blocked" {
			return nil, coleo.Blocked(&coleo.Dialog{Title: "Proceed?"})
		}
		return ArmReport{ID: o.Arm, Desired: coleo.Desired(op)}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var got ArmReport
	if err := serve.Ask(t.Context(), "host.one", OpKill, ArmOrder{Arm: "a"}, &got); err != nil || got.ID != "a" ||
		got.Desired != "kill" {
		t.Fatalf("report = %+v, %v", got, err)
	}
	err = serve.Ask(t.Context(), "host.one", OpKill, ArmOrder{Arm: "blocked"}, &got)
	e, ok := err.(*coleo.Error)
	if !ok || e.Code != coleo.EBlocked || e.Dialog == nil || e.Dialog.Title != "Proceed?" {
		t.Fatalf("error = %v, want the dialog in it", err)
	}
}

func TestAHostThatIsNotThereIsUnavailableAtOnce(t *testing.T) {
	t.Parallel()
	serve, _ := pair(t)
	start := time.Now()
	err := serve.Ask(t.Context(), "nobody", OpList, nil, nil)
	if coleo.ErrorCode(err) != coleo.EUnavailable || time.Since(start) > 5*time.Second {
		t.Fatalf("ask = %v after %s, want %s at once", err, time.Since(start), coleo.EUnavailable)
	}
}

func TestACommandThatItsHostAgentDidNotOutliveIsUnavailable(t *testing.T) {
	t.Parallel()
	for name, returns := range map[string]bool{"gone": false, "started anew": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			serve, host := pair(t)
			life, dies := context.WithCancel(t.Context())
			err := host.Serve(life, "h", func(ctx context.Context, _ Op, _ json.RawMessage) (any, error) {
				dies()
				<-ctx.Done()
				if returns {
					time.Sleep(100 * time.Millisecond) // a new process needs at least this long until it listens
					if err := host.Serve(t.Context(), "h", nil); err != nil {
						t.Error(err)
					}
				}
				<-t.Context().Done() // like a dead process, send no report
				return nil, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			err = serve.Ask(ctx, "h", OpPrompt, PromptOrder{}, nil)
			if coleo.ErrorCode(err) != coleo.EUnavailable || IsUnreachable(err) == returns {
				t.Fatalf("ask = %v, unreachable %v", err, IsUnreachable(err))
			}
		})
	}
}

func TestBeatsAndGrowthReachWhoListens(t *testing.T) {
	t.Parallel()
	serve, host := pair(t)
	beats, grown := make(chan Beat, 1), make(chan Grown, 1)
	if err := serve.Beats(t.Context(), func(b Beat) { beats <- b }); err != nil {
		t.Fatal(err)
	}
	if err := serve.Growth(t.Context(), func(g Grown) { grown <- g }); err != nil {
		t.Fatal(err)
	}
	if err := host.RollCalls(t.Context(), func() { _ = host.Beat(Beat{ID: "h"}) }); err != nil {
		t.Fatal(err)
	}
	if err := serve.RollCall(); err != nil {
		t.Fatal(err)
	}
	if b := <-beats; b.ID != "h" {
		t.Fatalf("beat = %+v", b)
	}
	if err := host.Grew(Grown{Host: "h", Head: 7}); err != nil {
		t.Fatal(err)
	}
	if g := <-grown; g.Head != 7 {
		t.Fatalf("growth = %+v", g)
	}
}
