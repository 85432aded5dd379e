package loop

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"coleo.dev"
)

// calls is a list of calls and their ends, as Next takes them.
type calls struct {
	list []coleo.Work
}

func (c *calls) add(kind coleo.ToolKind, name string, args map[string]string, e coleo.ToolEnd) {
	raw, _ := json.Marshal(args)
	id := fmt.Sprint(len(c.list))
	e.ID = id
	c.list = append(c.list, coleo.ToolCall{ID: id, Name: name, Kind: kind, Arguments: raw, Files: []string{args["path"]}},
		e)
}

func (c *calls) run(command, output string) {
	c.add(coleo.ToolExecute, "Bash", map[string]string{"command": command}, coleo.ToolEnd{Outcome: coleo.ToolSuccess,
		Output: output})
}

func (c *calls) replace(file, was, now string) {
	c.add(coleo.ToolEdit, "Edit", map[string]string{"path": file, "old_string": was, "new_string": now},
		coleo.ToolEnd{Outcome: coleo.ToolSuccess})
}

func (c *calls) write(file, content string) {
	c.add(coleo.ToolEdit, "Write", map[string]string{"path": file, "content": content},
		coleo.ToolEnd{Outcome: coleo.ToolSuccess})
}

func (c *calls) patch(file, patch string) {
	c.add(coleo.ToolEdit, "apply_patch", map[string]string{"path": file, "patch": patch},
		coleo.ToolEnd{Outcome: coleo.ToolSuccess})
}

func TestCirclesAreFound(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		work func(c *calls, i int)
		want string // "" if Next must find no circle
	}{
		"the same call with the same result": {func(c *calls, _ int) { c.run("ls", "a") },
			"the same call of Bash with the same result 10 times"},
		"the same call, with another one between": {func(c *calls, i int) {
			c.run("ls", "a")
			c.run("ls "+fmt.Sprint(i), "")
		},
			"the same call of Bash"},
		"another result each time":     {func(c *calls, i int) { c.run("ls", fmt.Sprint(i)) }, ""},
		"another call with one result": {func(c *calls, i int) { c.run("ls "+fmt.Sprint(i), "a") }, ""},
		"a test after each new edit": {func(c *calls, i int) {
			c.replace("f", fmt.Sprint(i), fmt.Sprint(i+1))
			c.run("go test", "FAIL")
		}, ""},
		"an edit that fails in the same way": {func(c *calls, _ int) {
			c.add(coleo.ToolEdit, "Edit", map[string]string{"path": "f", "old_string": "a", "new_string": "b"},
				coleo.ToolEnd{Outcome: coleo.ToolError, Reason: "not found"})
		}, "the same call of Edit"},
		"edits that undo each other": {func(c *calls, _ int) { c.replace("f", "a", "b"); c.replace("f", "b", "a") },
			"its edits of f have undone each other 4 times"},
		"files that are written back": {func(c *calls, i int) { c.write("f", fmt.Sprint(i%2)) }, "its edits of f"},
		"patches that undo each other": {func(c *calls, _ int) {
			c.patch("f", "*** f\n-a\n+b\n")
			c.patch("f", "*** f\n-b\n+a\n")
		}, "its edits of f"},
		"the same edit of many files": {func(c *calls, i int) { c.replace(fmt.Sprint(i), "a", "b") }, ""},
		"back and forth in two files": {func(c *calls, i int) {
			c.replace("f"+fmt.Sprint(i), "a", "b")
			c.replace("g"+fmt.Sprint(i), "b", "a")
		}, ""},
		"a file that is written again with its own text": {func(c *calls, _ int) { c.write("f", "x") },
			"the same call of Write"},
		"a test after a file was written with its own text": {func(c *calls, _ int) {
			c.write("f", "x")
			c.run("go test", "FAIL")
		}, "the same call of"},
		"a test after a file was deleted": {func(c *calls, _ int) {
			c.patch("f", "*** Begin Patch\n*** Delete File: f\n*** End Patch\n")
			c.run("go test", "FAIL")
		}, ""},
		"a test after one of two edits": {func(c *calls, i int) {
			c.write("f", "x")
			c.write("g", fmt.Sprint(i))
			c.run("go test", "FAIL")
		}, ""},
		"a file that grows": {func(c *calls, i int) { c.write("f", strings.Repeat("x", i)) }, ""},
		"calls that were cut": {func(c *calls, _ int) {
			c.add(coleo.ToolRead, "Read", nil, coleo.ToolEnd{Output: "x", Truncated: true})
		}, ""},
	} {
		var made calls
		for i := range 40 {
			c.work(&made, i)
		}
		var s State
		got := ""
		for _, w := range made.list {
			if s, got = s.Next(w, 0); got != "" {
				break
			}
		}
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestATryThatIsUndoneIsNoCircle(t *testing.T) {
	t.Parallel()
	var made calls
	for range 2 {
		made.replace("f", "a", "b")
		made.replace("f", "b", "a")
	}
	var s State
	for _, w := range made.list {
		got := ""
		if s, got = s.Next(w, 0); got != "" {
			t.Errorf("it is called a circle: %s", got)
		}
	}
}

func TestTheBoundCanBeAnother(t *testing.T) {
	t.Parallel()
	var made calls
	for range 3 {
		made.run("ls", "a")
	}
	for most, want := range map[int]bool{2: true, 3: true, 4: false} {
		found := false
		var s State
		for _, w := range made.list {
			why := ""
			s, why = s.Next(w, most)
			found = found || why != ""
		}
		if found != want {
			t.Errorf("with a bound of %d: %t, want %t", most, found, want)
		}
	}
}

// A caller may keep a State and call Next on it twice, so Next must not change it.
func TestAStateDoesNotChange(t *testing.T) {
	t.Parallel()
	var made calls
	for range MaxSame {
		made.run("ls", "a")
		made.replace("g", "a", "b")
		made.replace("g", "b", "a")
	}
	var s State
	for i, w := range made.list {
		_, once := s.Next(w, 3)
		next, twice := s.Next(w, 3)
		if once != twice {
			t.Fatalf("work %d gives %q, and then %q", i, once, twice)
		}
		s = next
	}
}
