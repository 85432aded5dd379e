package terminal

import "testing"

func TestTwoSessionsNeverHaveOneConversation(t *testing.T) {
	t.Parallel()
	taken, a, b := takenConversations{by: map[string]*session{}}, &session{}, &session{}
	steps := []struct {
		s    *session
		id   string
		want bool
	}{
		{a, "one", true}, {b, "one", false}, {b, "two", true}, {a, "two", false}, {a, "one", true},
		{a, "three", true}, {b, "one", true}, // a has left conversation one
		{a, "", true}, {b, "three", true}, // the conversation of a is unknown
	}
	for i, step := range steps {
		if got := taken.take(step.s, step.id); got != step.want {
			t.Fatalf("step %d: take(%q) returned %t", i+1, step.id, got)
		}
	}
	taken.leave(b)
	if !taken.take(a, "three") {
		t.Error("a closed session keeps its conversation")
	}
}
