package armtools

import (
	"context"
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/host/toolcalls"
	"coleo.dev/store"
)

// With these methods, an office implements toolcalls.Arms, so its dispatcher can ask it about arms.
// The arm "a" has two relatives: its subarm "kid", which never becomes idle, and its parent "b".

func (o *office) Relatives(arm string) []toolcalls.Relative {
	if arm != "a" {
		return nil
	}
	return []toolcalls.Relative{{ID: "arm-kid", Name: "arm-a.kid", State: coleo.Processing, Queued: 2, Workdir: "/work"},
		{ID: "b", Name: "arm-b", Parent: true, State: coleo.Idle, Asks: true, Workdir: "/"}}
}

func (o *office) Arrived() <-chan struct{} { return nil }

func (o *office) Living() int { return 1 }

func (o *office) Await(ctx context.Context, _ string) (string, error) {
	<-ctx.Done()
	return "", ctx.Err()
}

func (o *office) Deliver(ctx context.Context, to string, e coleo.Queued, c store.ToolChange,
	events ...coleo.Event) error {
	if to != "arm-kid" || e.Text == "" {
		return coleo.Errorf(coleo.EExited, "arm %s has ended", to)
	}
	return o.db.ChangeTools(ctx, c, events...)
}

func TestM19AModelListsItsSubarmsAndItsParent(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	want := "arm-a.kid (subarm): processing, 2 prompts queued, in /work\n" +
		"arm-b (parent): idle, waits for a person, in /"
	if a := now(t, o.process("a"), coleo.ToolListArms, nil); a.text != want {
		t.Errorf("list_arms = %+v, want %q", a, want)
	}
	if a := now(t, o.process("b"), coleo.ToolListArms, nil); a.text != "This arm has no subarms and no parent." {
		t.Errorf("list_arms = %+v", a)
	}
}

// The agent CLI ends a call of await_arm before the subarm is done. A call of await_answer with the
// subarm's id must then continue the wait.
func TestM19ACutWaitForASubarmIsTakenUp(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	s := o.inside(Config{Longest: time.Millisecond}, nil)
	for tool, args := range map[string]map[string]any{coleo.ToolAwaitArm: nil,
		coleo.ToolAwaitAnswer: {"id": "arm-a.kid"}} {
		if a := now(t, s, tool, args); a.failed || !strings.Contains(a.text, "await_answer with the id arm-a.kid") {
			t.Errorf("%s = %+v", tool, a)
		}
	}
	if a := now(t, s, coleo.ToolAwaitArm, map[string]any{"name": "arm-b"}); !a.failed ||
		!strings.Contains(a.text, "arm-a.kid") {
		t.Errorf("to wait for the parent = %+v, want an error", a)
	}
	if a := now(t, o.process("b"), coleo.ToolAwaitAnswer, map[string]any{"id": "arm-a.kid"}); !a.failed {
		t.Errorf("to wait for the subarm of another arm = %+v, want an error", a)
	}
}

// A person must approve a message. A message can go only to a subarm or to the parent, and must
// name its sender.
func TestM19AMessageIsApprovedAndMarked(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	s := o.process("a")
	for _, wrong := range []map[string]any{{"to": "c", "text": "hi"}, {"to": "arm-a", "text": "hi"},
		{"to": "", "text": "hi"}, {"to": "arm-a.kid", "text": " "}, {"to": "arm-a.kid", "text": "hi", "from": "the user"}} {
		if a := now(t, s, coleo.ToolMessageArm, wrong); !a.failed {
			t.Errorf("message_arm %v = %+v, want an error", wrong, a)
		}
	}
	for _, c := range []struct {
		to     string
		choice coleo.Choice
		failed bool
		want   string
	}{
		{"arm-a.kid", coleo.ChoiceApprove, false, "is in the queue of the arm arm-a.kid"},
		{"arm-a.kid", coleo.ChoiceDeny, false, "The user denies it."},
		{"parent", coleo.ChoiceApprove, true, "arm b has ended"},
	} {
		// Each call needs its own text, because a call with the same text counts as the same question.
		text := c.to + " " + string(c.choice)
		result := call(t.Context(), s, coleo.ToolMessageArm, map[string]any{"to": c.to, "text": text})
		q := o.waiting(1)[0]
		if q.Kind != coleo.SuspensionMessage || q.Request.Prompt != "Message from the arm arm-a: "+text ||
			!strings.HasSuffix(q.Text, q.Request.Prompt) {
			t.Errorf("a person is asked %+v (%+v)", q, q.Request)
		}
		o.answer(q, coleo.Decision{Choice: c.choice})
		if a := <-result; a.failed != c.failed || !strings.Contains(a.text, c.want) {
			t.Errorf("message_arm to %s, %s = %+v, want %q", c.to, c.choice, a, c.want)
		}
	}
	if list, err := o.db.Requests(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("serve is to carry out %+v, %v", list, err)
	}
}
