package api

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/api/apiclient"
	"coleo.dev/changes"
	"coleo.dev/cost"
	"coleo.dev/localsocket"
	"coleo.dev/wire"
)

// socketClient serves s at a socket, and returns a client of the socket.
func socketClient(t *testing.T, s *Server) *apiclient.Client {
	t.Helper()
	return newClient(t, apiclient.Config{Socket: serveSocket(t, s)})
}

func newClient(t *testing.T, config apiclient.Config) *apiclient.Client {
	t.Helper()
	c, err := apiclient.New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// serveSocket serves s at a socket, and returns the path of the socket. The path is longer than a
// socket address can be, so the tests also cover long paths.
func serveSocket(t *testing.T, s *Server) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), strings.Repeat("long", 30))
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "serve.sock")
	l, err := localsocket.Listen(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, l, true) }()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Errorf("Serve = %v", err)
		}
	})
	return path
}

func TestEveryRouteThroughItsClient(t *testing.T) {
	t.Parallel()
	b := &scriptedBrain{
		spawn: func(r wire.SpawnRequest) (wire.SpawnReply, error) {
			return wire.SpawnReply{Spawned: true, Arm: coleo.Arm{Name: r.Name, Harness: r.Harness}, Model: r.Model},
				nil
		},
		prompt: func(_ context.Context, p coleo.Prompt, lease string) (coleo.Receipt, error) {
			return coleo.Receipt{ID: "run-1", Proof: coleo.ProofStarted,
				Text: p.Text + "/" + lease + fmt.Sprint(p.Interrupt, p.Unproven)}, nil
		},
		respond: func(dialog coleo.Fingerprint, d coleo.Decision) error {
			if want := (coleo.Decision{Choice: coleo.ChoiceAnswer, Option: 2, Options: []int{1, 3}, Words: "so",
				Key: "y"}); dialog != "f1" ||
				!reflect.DeepEqual(d, want) {
				return fmt.Errorf("respond got %q %+v", dialog, d)
			}
			return nil
		},
		output: func(_ context.Context, from int64) (coleo.Output, error) {
			return coleo.Output{Offset: from, Data: []byte("\x1b[1mhi\xff"), Cols: 100, Rows: 30}, nil
		},
		input: func(lease string, data []byte) error {
			if lease != "l1" || string(data) != "\x03\xff" {
				return fmt.Errorf("input got %q %q", lease, data)
			}
			return nil
		},
		resize: func(cols, rows int) error {
			if cols != 90 || rows != 25 {
				return fmt.Errorf("resize got %dx%d", cols, rows)
			}
			return nil
		},
		lease: func(r wire.LeaseRequest) (coleo.Lease, error) { return coleo.Lease{ID: "l1", Holder: r.Holder}, nil },
		wait: func(_ context.Context, states []coleo.State) (coleo.Arm, error) {
			return coleo.Arm{Name: fmt.Sprint(states)}, nil
		},
		runs: func(f wire.RunFilter) ([]coleo.Run, string, error) {
			return []coleo.Run{{ID: fmt.Sprint(f.Arm, f.Outcome, f.Since.Unix(), f.Before, f.Limit)}}, "z", nil
		},
		events: func(f wire.EventFilter) ([]coleo.Event, string, error) {
			if len(f.Kinds) > 0 {
				f.Run += fmt.Sprint(f.Kinds)
			}
			return []coleo.Event{{Arm: f.Arm, Run: f.Run, Seq: uint64(f.Limit)}}, "after " + f.After, nil
		},
	}
	c, ctx := socketClient(t, newServer(t, b)), t.Context()
	for name, got := range map[string]func() (any, error){
		"2 arms": func() (any, error) { l, err := c.Arms(ctx, true); return fmt.Sprintf("%d arms", len(l)), err },
		"a1":     func() (any, error) { a, err := c.Arm(ctx, "octavia"); return a.ID, err },
		"new h": func() (any, error) {
			r, err := c.Create(ctx, wire.SpawnRequest{Name: "new", Harness: "h"})
			return r.Arm.Name + " " + r.Arm.Harness, err
		},
		"octavia m": func() (any, error) {
			r, err := c.Spawn(ctx, wire.SpawnRequest{Name: "octavia", Model: "m"})
			return r.Arm.Name + " " + r.Model, err
		},
		"reattached m": func() (any, error) {
			r, err := c.Recover(ctx, "a1", wire.RecoverRequest{Model: "m"})
			return string(r.RecoveryMode) + " " + r.Model, err
		},
		"nautilus": func() (any, error) { a, err := c.Kill(ctx, "a2"); return a.Name, err },
		"label k=v,team=a": func() (any, error) {
			a, err := c.Label(ctx, "a1", coleo.LabelChange{Set: coleo.Labels{"team": "a", "k": "v"}, Remove: []string{"old"}})
			return "label " + a.Labels.String(), err
		},
		"3 dropped, true": func() (any, error) {
			gone, err := c.Remove(ctx, "a1", true)
			return fmt.Sprintf("%d dropped, %s", gone.Dropped, gone.Kept), err
		},
		"added later to 0 [/f] by": func() (any, error) {
			r, err := c.FollowUp(ctx, "a1", "later", []string{"/f"})
			e := r.Queue.Entries[0]
			by, _, _ := strings.Cut(e.By, " of user ")
			return fmt.Sprintf("%s %v %s", e.Text, e.Files, strings.Replace(by, filepath.Base(os.Args[0]), "by", 1)), err
		},
		"to 0 of a1": func() (any, error) {
			q, err := c.Queue(ctx, "a1")
			return strings.TrimSpace(q.Entries[0].Text) + " of " + q.Entries[0].ID, err
		},
		"edited other to 0 e1": func() (any, error) {
			r, err := c.EditQueued(ctx, "a1", "e1", "other", nil)
			return r.Queue.Entries[0].Text + " " + r.ID, err
		},
		"removed  to 0 e1": func() (any, error) {
			r, err := c.RemoveQueued(ctx, "a1", "e1")
			return r.Queue.Entries[0].Text + " " + r.ID, err
		},
		"moved  to 2 e1": func() (any, error) {
			r, err := c.MoveQueued(ctx, "a1", "e1", 2)
			return r.Queue.Entries[0].Text + " " + r.ID, err
		},
		"paused  to 0 lunch": func() (any, error) {
			r, err := c.PauseArm(ctx, "a1", "lunch")
			return r.Queue.Entries[0].Text + " " + r.Queue.Paused, err
		},
		"resumed  to 0": func() (any, error) {
			r, err := c.ResumeArm(ctx, "a1")
			return r.Queue.Entries[0].Text, err
		},
		"interrupted ESCAPE nowtrue [/f]": func() (any, error) {
			r, err := c.Steer(ctx, "a1", coleo.Prompt{Text: "now", Interrupt: true, Files: []string{"/f"}})
			return fmt.Sprint(r.How, " ", r.Interruption.Pressed[0], " ", r.Receipt.Text), err
		},
		"ESCAPE, idle, 2 aborted": func() (any, error) {
			r, err := c.Abort(ctx, "a1")
			return fmt.Sprintf("%s, %s, %d %s", r.Pressed[0], r.State, r.Queue.Length, r.Queue.Paused), err
		},
		"ESCAPE: processing, then idle by composer": func() (any, error) {
			i, err := c.Interrupt(ctx, "a1")
			return fmt.Sprintf("%s: %s, then %s by %s", i.Pressed[0], i.Was, i.State, i.Rule), err
		},
		"hello/l1true true": func() (any, error) {
			r, err := c.Prompt(ctx, "a1", coleo.Prompt{Text: "hello", Interrupt: true, Unproven: true}, "l1")
			return r.Text, err
		},
		"r1 /compact true": func() (any, error) {
			r, err := c.Compact(ctx, "a1")
			return fmt.Sprint(r.ID, " ", r.Text, " ", r.Compact), err
		},
		"plan {ID:octavia}": func() (any, error) {
			m, err := c.Modes(ctx, "a1")
			return fmt.Sprintf("%s {ID:%s}", m.Mode, m.List[0].ID), err
		},
		"a1 2026-01-31T00:00:00Z 2": func() (any, error) {
			r, err := c.Cost(ctx, "a1", []cost.Key{cost.ByArm, cost.ByRun}, time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC))
			return fmt.Sprint(r.Rows[0].By["arm"], " ", r.Rows[0].By["run"], " ", r.Rows[0].Dollars), err
		},
		"m9 h9": func() (any, error) {
			m, err := c.Models(ctx)
			return m.Models[0].Model + " " + m.Logins[0].Harness, err
		},
		"true true plan": func() (any, error) {
			s, err := c.SwitchMode(ctx, "a1", coleo.ModeOrder{Mode: "plan", Allow: true, Interrupt: true})
			return s.From + " " + s.To, err
		},
		"thread p/m true": func() (any, error) {
			s, err := c.SwitchModel(ctx, "a1", coleo.ModelOrder{Model: "p/m", Scope: coleo.ScopeThread, Restart: true})
			return fmt.Sprint(s.From, " ", s.To, " ", s.Restarted), err
		},
		"responded": func() (any, error) {
			return "responded", c.Respond(ctx, "a1", "f1", coleo.Decision{Choice: coleo.ChoiceAnswer, Option: 2,
				Options: []int{1, 3}, Words: "so", Key: "y"}, "")
		},
		"q-1 of a1": func() (any, error) {
			l, err := c.Suspensions(ctx, "a1")
			return l[0].ID + " of " + l[0].Arm, err
		},
		"q-1 a1 answer 2 so socket": func() (any, error) {
			s, err := c.AnswerSuspension(ctx, "a1", "q-1", coleo.Decision{Choice: coleo.ChoiceAnswer, Option: 2, Words: "so"})
			d := s.Decision
			return fmt.Sprint(s.ID, " ", s.Arm, " ", d.Choice, " ", d.Option, " ", d.Words, " ", s.By), err
		},
		"q-7 without arm": func() (any, error) {
			s, err := c.AnswerSuspension(ctx, "", "q-7", coleo.Decision{Choice: coleo.ChoiceApprove})
			return s.ID + " without arm" + s.Arm, err
		},
		"no id, deny": func() (any, error) {
			s, err := c.AnswerSuspension(ctx, "a1", "", coleo.Decision{Choice: coleo.ChoiceDeny})
			return "no id" + s.ID + ", " + string(s.Decision.Choice), err
		},
		"0 tasks": func() (any, error) { l, err := c.Tasks(ctx, "a1"); return fmt.Sprintf("%d tasks", len(l)), err },
		"l1 me": func() (any, error) {
			l, err := c.Lease(ctx, "a1", wire.LeaseRequest{Holder: "me"})
			return l.ID + " " + l.Holder, err
		},
		"typed":   func() (any, error) { return "typed", c.Input(ctx, "a1", "l1", []byte("\x03\xff")) },
		"resized": func() (any, error) { return "resized", c.Resize(ctx, "a1", "l1", 90, 25) },
		"42 transcript": func() (any, error) {
			u, err := c.Usage(ctx, "a1")
			return fmt.Sprint(u.Total(), " ", u.Source), err
		},
		"a1 shown":    func() (any, error) { s, err := c.Display(ctx, "octavia"); return s.Arm + " " + s.Text, err },
		"run/1-whole": func() (any, error) { g, err := c.Graph(ctx, "run/1"); return g.Nodes[0].ID, err },
		"a1[a,b c&d] false true true p\xff 3": func() (any, error) {
			n := 3
			d, err := c.Diff(ctx, "a1", changes.DiffRequest{Paths: []string{"a,b", "c&d"}, Binary: true, Checkpoint: &n}, true)
			return fmt.Sprint(d.Root, " ", string(d.Patch), " ", d.Base), err
		},
		"a1[x] true false false": func() (any, error) {
			d, err := c.Diff(ctx, "a1", changes.DiffRequest{Paths: []string{"x"}, Stat: true}, true)
			return d.Root + d.Base, err
		},
		"checkpoint 3 a1": func() (any, error) {
			l, err := c.Checkpoints(ctx, "a1")
			return fmt.Sprint("checkpoint ", l[0].N, " ", l[0].Commit), err
		},
		"restored 0 [a1], undo 1": func() (any, error) {
			r, err := c.Restore(ctx, "a1", 0)
			return fmt.Sprintf("restored %d %v, undo %d", r.N, r.Written, r.Before), err
		},
		"/w/a,b /x 7 if a & b wrote": func() (any, error) {
			a, err := c.Why(ctx, wire.WhyQuestion{Paths: []string{"/w/a,b", "/x"}, Line: 7, Text: "if a & b"})
			return fmt.Sprint(a.Path, " ", a.Line, " ", a.Text, " ", a.Certainty), err
		},
		"composer": func() (any, error) { e, err := c.Explain(ctx, "a1"); return e.Reading.Rule, err },
		"hello":    func() (any, error) { s, err := c.Screen(ctx, "a1"); return s.Lines[0], err },
		"line 9, hello": func() (any, error) {
			s, err := c.History(ctx, "a1", 9)
			return strings.Join(s.Text(), ", "), err
		},
		"2026-01-02T03:04:05Z": func() (any, error) {
			s, err := c.ScreenAt(ctx, "a1", time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
			return s.Lines[0], err
		},
		"7 to 9 of 9: hi": func() (any, error) {
			r, err := c.Record(ctx, "a1", 2, 7)
			return fmt.Sprintf("%d to %d of %d: %s", r.Offset, r.Next, r.Until, r.Events[0].Data), err
		},
		"-7 \x1b[1mhi\xff": func() (any, error) {
			o, err := c.Output(ctx, "a1", -7, time.Second)
			return fmt.Sprintf("%d %s", o.Offset, o.Data), err
		},
		"[idle error]": func() (any, error) {
			a, err := c.WaitArm(ctx, "a1", coleo.Idle, coleo.Failed)
			return a.Name, err
		},
		"4":               func() (any, error) { e, err := c.WaitRun(ctx, "run-1"); return e.Answer, err },
		"a1  100 after c": func() (any, error) { return page(c.Events(ctx, wire.EventFilter{Arm: "a1", After: "c"})) },
		" [turn usage] 100 after now": func() (any, error) {
			return page(c.Events(ctx, wire.EventFilter{Kinds: []coleo.EventKind{"turn", "usage"}, After: wire.Now}))
		},
		"a1open70c9 z": func() (any, error) {
			l, next, err := c.Runs(ctx, wire.RunFilter{Arm: "a1", Outcome: "open", Since: time.Unix(7, 0), Before: "0c",
				Limit: 9})
			return l[0].ID + " " + next, err
		},
		"r1-whole":     func() (any, error) { r, err := c.Run(ctx, "r1"); return r.ID, err },
		" r1 7 after ": func() (any, error) { return page(c.Events(ctx, wire.EventFilter{Run: "r1", Limit: 7})) },
		"h1":           func() (any, error) { h, err := c.Hosts(ctx); return h[0].ID, err },
		"h":            func() (any, error) { h, err := c.Harnesses(ctx); return h[0].Name, err },
		`{"providers":[{"id":"p"}],"connected":["p"]}`: func() (any, error) {
			p, err := c.Providers(ctx)
			return string(p), err
		},
		"v1": func() (any, error) { v, err := c.Health(ctx); return v, err },
		"2 1 1 2": func() (any, error) {
			s, err := c.Status(ctx)
			return fmt.Sprint(s.Arms, s.Waiting, s.LiveHosts, s.Hosts), err
		},
	} {
		if got, err := got(); err != nil || !reflect.DeepEqual(got, name) {
			t.Errorf("got %q (%v), want %q", got, err, name)
		}
	}
}

func page(events []coleo.Event, next string, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return fmt.Sprintf("%s %s %d %s", events[0].Arm, events[0].Run, events[0].Seq, next), nil
}

func TestOutputIsRawUnlessJSONIsAskedFor(t *testing.T) {
	t.Parallel()
	b := &scriptedBrain{output: func(context.Context, int64) (coleo.Output, error) {
		return coleo.Output{Offset: 40, Data: []byte("\xe2\x82"), Cols: 80, Rows: 24, End: true}, nil
	}}
	h := newServer(t, b).Handler(true)
	resp, body := ask(t, h, "GET", "/api/arms/a1/output?from=40", "", "Accept", "*/*")
	if body != "\xe2\x82" || resp.Header.Get("Content-Type") != "application/octet-stream" {
		t.Errorf("raw: %q, %q", body, resp.Header.Get("Content-Type"))
	}
	for name, want := range map[string]string{headerOffset: "40", headerNext: "42", headerEnd: "true", headerCols: "80",
		headerRows: "24"} {
		if got := resp.Header.Get(name); got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
	resp, body = ask(t, h, "GET", "/api/arms/a1/output?from=40", "", "Accept", "application/json")
	if !strings.Contains(body, `"data":"4oI="`) || resp.Header.Get("Content-Type") != "application/json" {
		t.Errorf("JSON: %q, %q", body, resp.Header.Get("Content-Type"))
	}
}

func TestAWaitEndsInTime(t *testing.T) {
	t.Parallel()
	b := &scriptedBrain{wait: func(ctx context.Context, _ []coleo.State) (coleo.Arm, error) {
		<-ctx.Done()
		return coleo.Arm{}, ctx.Err()
	}}
	h := newServer(t, b).Handler(true)
	resp, body := ask(t, h, "GET", "/api/arms/a1/wait?state=dead&timeout=10ms", "")
	if resp.StatusCode != 504 || errorCode(t, body) != coleo.ETimeout ||
		!strings.Contains(body, "octavia did not become dead within 10ms; it is idle") {
		t.Errorf("wait: %d %s", resp.StatusCode, body)
	}
	resp, body = ask(t, h, "GET", "/api/runs/never/end?timeout=10ms", "")
	if resp.StatusCode != 504 || errorCode(t, body) != coleo.ETimeout {
		t.Errorf("end: %d %s", resp.StatusCode, body)
	}
}

func TestAnArmIsNotMadeBlindly(t *testing.T) {
	t.Parallel()
	b := &scriptedBrain{fail: coleo.Errorf(coleo.EUnavailable, "no host answers")}
	h := newServer(t, b).Handler(true)
	for _, path := range []string{"/api/arms", "/api/arms/octavia/spawn"} {
		if resp, body := ask(t, h, "POST", path, `{"name":"octavia"}`); resp.StatusCode != 503 {
			t.Errorf("%s: %d %s, want 503: whether there is such an arm is not known", path, resp.StatusCode, body)
		}
	}
}
