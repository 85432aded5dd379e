package api

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/wire"
)

func (b *scriptedBrain) Threads(_ context.Context, f coleo.ThreadFilter) (coleo.ThreadList, error) {
	return coleo.ThreadList{Threads: []coleo.Thread{{ID: fmt.Sprint(f.Project, f.Harness, f.Words, f.Prefix, f.Arm,
		f.Since.Unix(), f.Hidden, f.Limit)}}, Unread: 2}, b.fail
}

func (b *scriptedBrain) Thread(_ context.Context, harness, id string, after, limit int) (coleo.ThreadPage, error) {
	return coleo.ThreadPage{Thread: coleo.Thread{ID: fmt.Sprint(harness, "/", id, after, "/", limit)}}, b.fail
}

func (b *scriptedBrain) ChangeThread(_ context.Context, harness, id string, c coleo.ThreadChange) (coleo.Thread,
	error) {
	if c.Delete && c.File {
		return coleo.Thread{}, coleo.Errorf(coleo.EThreadLocked, "the conversation %s is in use by arm octavia", id)
	}
	if c.Delete {
		return coleo.Thread{}, b.fail
	}
	return coleo.Thread{ID: harness + "/" + id, Title: *c.Title}, b.fail
}

func (b *scriptedBrain) ThreadSummary(_ context.Context, harness, id string) (coleo.ThreadSummary, error) {
	return coleo.ThreadSummary{ID: id, Harness: harness, First: "first"}, b.fail
}

func (b *scriptedBrain) CloneThread(_ context.Context, harness, id string, r wire.SpawnRequest) (wire.SpawnReply,
	error) {
	return wire.SpawnReply{Arm: coleo.Arm{Name: r.Name, Harness: harness, SessionID: "copy of " + id}}, b.fail
}

func (b *scriptedBrain) HandOver(_ context.Context, arm string, r wire.HandoverRequest) (wire.HandoverReply, error) {
	return wire.HandoverReply{From: coleo.Arm{Name: arm}, To: wire.SpawnReply{Arm: coleo.Arm{Name: r.Name,
		Harness: r.To}}, Run: "run", Moved: []string{"1"}, Interrupted: r.Interrupt}, nil
}

func (b *scriptedBrain) ForkArm(_ context.Context, arm string, r wire.SpawnRequest) (wire.SpawnReply, error) {
	return wire.SpawnReply{Arm: coleo.Arm{Name: r.Name, SessionID: "copy of that of " + arm}}, b.fail
}

func (b *scriptedBrain) ArmThread(_ context.Context, arm string) (coleo.Thread, error) {
	return coleo.Thread{ID: "of " + arm}, b.fail
}

func (b *scriptedBrain) SwitchThread(_ context.Context, arm, conversation string) (wire.SpawnReply, error) {
	return wire.SpawnReply{SessionID: arm + " " + conversation}, b.fail
}

func TestM6EveryRouteOfThreadsThroughItsClient(t *testing.T) {
	t.Parallel()
	c, ctx := socketClient(t, newServer(t, &scriptedBrain{})), t.Context()
	for want, got := range map[string]func() (any, error){
		"/phexact \"a b\"*i-arm7 true 5 2": func() (any, error) {
			l, err := c.Threads(ctx, coleo.ThreadFilter{Project: "/p", Harness: "h", Words: `exact "a b"*`, Prefix: "i-",
				Arm: "arm", Since: time.Unix(7, 0), Hidden: true, Limit: 5})
			return fmt.Sprint(l.Threads[0].ID, " ", l.Unread), err
		},
		"h/a/b%c 3/4": func() (any, error) { p, err := c.Thread(ctx, "h", "a/b%c ", 3, 4); return p.Thread.ID, err },
		"h/i0/0":      func() (any, error) { p, err := c.Thread(ctx, "h", "i", 0, 0); return p.Thread.ID, err },
		"a/b%c  h first": func() (any, error) {
			s, err := c.ThreadSummary(ctx, "h", "a/b%c ")
			return s.ID + " " + s.Harness + " " + s.First, err
		},
		"h/i new": func() (any, error) {
			th, err := c.RenameThread(ctx, "h", "i", "new")
			return th.ID + " " + th.Title, err
		},
		"<nil>": func() (any, error) { return nil, c.DeleteThread(ctx, "h", "i", false) },
		"two h copy of i": func() (any, error) {
			r, err := c.CloneThread(ctx, "h", "i", wire.SpawnRequest{Name: "two"})
			return r.Arm.Name + " " + r.Arm.Harness + " " + r.Arm.SessionID, err
		},
		"of octavia":   func() (any, error) { th, err := c.ArmThread(ctx, "octavia"); return th.ID, err },
		"octavia conv": func() (any, error) { r, err := c.SwitchThread(ctx, "octavia", "conv"); return r.SessionID, err },
	} {
		if out, err := got(); err != nil || fmt.Sprint(out) != want {
			t.Errorf("got %v, %v; want %s", out, err, want)
		}
	}
	if _, err := c.CloneThread(ctx, "h", "i", wire.SpawnRequest{}); coleo.ErrorCode(err) != coleo.EInvalid {
		t.Errorf("a copy without a name: %v", err)
	}
}

func TestM29EveryRouteOfAMemoThroughItsClient(t *testing.T) {
	t.Parallel()
	c, ctx := socketClient(t, newServer(t, &scriptedBrain{})), t.Context()
	m, err := c.Memo(ctx, "octavia")
	if err != nil || string(m.Value) != `"of octavia"` {
		t.Errorf("Memo = %+v, %v", m, err)
	}
	for _, value := range []string{`{"a":[1,null]}`, `null`, `"x"`, `12345678901234567890`} {
		if m, err := c.SetMemo(ctx, "octavia", []byte(value)); err != nil || string(m.Value) != value {
			t.Errorf("SetMemo %s = %s, %v", value, m.Value, err)
		}
		if m, err := c.PatchMemo(ctx, "octavia", []byte(value)); err != nil || string(m.Schema) != value {
			t.Errorf("PatchMemo %s = %s, %v", value, m.Schema, err)
		}
	}
}

func TestM20TheRouteOfAForkThroughItsClient(t *testing.T) {
	t.Parallel()
	c, ctx := socketClient(t, newServer(t, &scriptedBrain{})), t.Context()
	r, err := c.ForkArm(ctx, "octavia", wire.SpawnRequest{Name: "two"})
	if err != nil || r.Arm.Name != "two" || r.Arm.SessionID != "copy of that of octavia" {
		t.Errorf("ForkArm = %+v, %v", r.Arm, err)
	}
	done, err := c.HandOver(ctx, "octavia", wire.HandoverRequest{To: "codex", Name: "two", Interrupt: true})
	if err != nil || done.From.Name != "octavia" || done.To.Arm.Harness != "codex" || done.To.Arm.Name != "two" ||
		len(done.Moved) != 1 || done.Run != "run" || !done.Interrupted {
		t.Errorf("HandOver = %+v, %v", done, err)
	}
	if _, err := c.HandOver(ctx, "octavia", wire.HandoverRequest{}); coleo.ErrorCode(err) != coleo.EInvalid {
		t.Errorf("a hand-over to no harness: %v", err)
	}
	if _, err := c.ForkArm(ctx, "octavia", wire.SpawnRequest{}); coleo.ErrorCode(err) != coleo.EInvalid {
		t.Errorf("a fork without a name: %v", err)
	}
}

func TestM7AThreadThatAnArmHasIsAConflict(t *testing.T) {
	t.Parallel()
	h := newServer(t, &scriptedBrain{}).Handler(true)
	got, body := ask(t, h, "DELETE", "/api/threads/h/i?file=true", "")
	if status := got.StatusCode; status != http.StatusConflict || !strings.Contains(body, `"code":"thread_locked"`) ||
		!strings.Contains(body, "octavia") {
		t.Errorf("status %d, body %s", got.StatusCode, body)
	}
}
