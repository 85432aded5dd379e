package store

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"coleo.dev"
)

// used returns one line of text for each row of an arm's usage.
func used(t *testing.T, s *ServeDB, arm string) (lines []string) {
	t.Helper()
	list, err := s.Used(t.Context(), arm, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range list {
		lines = append(lines, fmt.Sprintf("%s %s %s %d calls %d/%d/%d/%d %g %d %v", u.ArmName, u.Run,
			coleo.ModelName(u.Provider, u.Model), u.Calls, u.Input, u.Cached, u.Written, u.Output, u.Cost, u.Context,
			u.Approximate))
	}
	return lines
}

func replyOf(run string, u coleo.Usage, model string) coleo.Event {
	u.Source = "transcript"
	e := event(coleo.EventUsage, "a", coleo.ReplyUsage{Usage: u, Model: model})
	e.Run, e.Source = run, coleo.SourceTranscript
	return e
}

func accountAt(run string, u coleo.Usage) coleo.Event {
	u.Source, u.Approximate = "account", true
	e := event(coleo.EventRunEnd, "a", coleo.RunEnd{Status: coleo.Idle, Usage: &u})
	e.Run = run
	return e
}

// The usage of replies is added up, but an event that arrives twice counts only once. The end of a run reports
// the sum of its replies, which must not count again. The rows must survive a restart of serve, and the removal
// of the arm.
func TestUsageIsCountedOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "serve.db")
	s, err := OpenServe(path)
	if err != nil {
		t.Fatal(err)
	}
	sum := coleo.Usage{Input: 400_030, Output: 6, Source: "transcript"}
	end := event(coleo.EventRunEnd, "a", coleo.RunEnd{Status: coleo.Idle, Usage: &sum})
	end.Run = "r1"
	events := numbered("h1", 0, spawn("a", 1),
		replyOf("r1", coleo.Usage{Input: 10, Cached: 4, Written: 2, Output: 1}, "m"),
		replyOf("r1", coleo.Usage{Input: 20, Output: 2}, "m"),
		replyOf("r1", coleo.Usage{Input: 400_000, Output: 3}, "m"),
		replyOf("", coleo.Usage{Input: 1, Output: 1, Cost: 0.5}, "n"), end)
	project(t, s, slices.Clone(events)...)
	project(t, s, slices.Clone(events)...)
	want := []string{"a  n 1 calls 1/0/0/1 0.5 0 false", "a r1 m 2 calls 30/4/2/3 0 0 false",
		"a r1 m 1 calls 400000/0/0/3 0 272000 false"}
	equal(t, "used", used(t, s, "a"), want)
	if _, err := s.db.writer.Exec("DELETE FROM usage; DELETE FROM accounts"); err != nil {
		t.Fatal(err)
	}
	if err := s.db.write(t.Context(), intent, fillUsage); err != nil {
		t.Fatal(err)
	}
	equal(t, "made from the log", used(t, s, ""), want)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = OpenServe(path); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.DeleteArm(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	equal(t, "of an arm that is gone", used(t, s, ""), want)
	for _, c := range []struct {
		after time.Duration
		left  int
	}{{UsageBound.Age - time.Hour, 3}, {UsageBound.Age + 2*time.Hour, 0}} {
		if err := s.ThinUsage(t.Context(), start.Add(c.after), UsageBound); err != nil || len(used(t, s, "")) != c.left {
			t.Errorf("%v after the usage there are %v, %v", c.after, used(t, s, ""), err)
		}
	}
}

// Some agent CLIs report an account, the sum of all usage since the start of the arm. Serve must count only the
// difference from the previous account. The sum begins again at 0 when the arm is started again, and when a new
// account is smaller.
func TestAnAccountIsCountedByItsDifferences(t *testing.T) {
	t.Parallel()
	s := serve(t)
	project(t, s, numbered("h1", 0, spawn("a", 1),
		accountAt("r1", coleo.Usage{Input: 10, Output: 1}),
		accountAt("r2", coleo.Usage{Input: 15, Output: 3, Cost: 0.25}),
		accountAt("r3", coleo.Usage{Input: 15, Output: 3, Cost: 0.25}),
		spawn("a", 2),
		accountAt("r4", coleo.Usage{Input: 20, Output: 4}),
		accountAt("r5", coleo.Usage{Input: 7, Output: 1}))...)
	equal(t, "used", used(t, s, "a"), []string{"a r1  1 calls 10/0/0/1 0 0 true", "a r2  1 calls 5/0/0/2 0.25 0 true",
		"a r4  1 calls 20/0/0/4 0 0 true", "a r5  1 calls 7/0/0/1 0 0 true"})
}

// The project of an arm is the folder from which the arm's worktree was made. If the worktree
// belongs to an ancestor of the arm, its project is the ancestor's project.
func TestUsageCountsForTheRepositoryOfAWorktree(t *testing.T) {
	t.Parallel()
	s, err := OpenServe(filepath.Join(t.TempDir(), "serve.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	one := coleo.SpawnConfig{Worktree: &coleo.Worktree{Path: "/kept/one", From: "/code/api/cmd"}}
	two := coleo.SpawnConfig{Worktree: &coleo.Worktree{Path: "/kept/two", From: "/code/api", With: []string{"/code/web"}}}
	asked := coleo.SpawnConfig{Worktree: &coleo.Worktree{}} // the host agent has not made the worktree yet
	for i, c := range []struct {
		arm     coleo.Arm
		config  *coleo.SpawnConfig
		project string
	}{
		{coleo.Arm{ID: "plain", Workdir: "/code/api"}, nil, "/code/api"},
		{coleo.Arm{ID: "asked", Workdir: "/code/api"}, &asked, "/code/api"},
		{coleo.Arm{ID: "one", Workdir: "/kept/one/cmd"}, &one, "/code/api/cmd"},
		{coleo.Arm{ID: "two", Workdir: "/kept/two/api"}, &two, "/code/api + /code/web"},
		{coleo.Arm{ID: "below", Workdir: "/kept/two/web", ParentArmID: "two"}, nil, "/code/api + /code/web"},
		{coleo.Arm{ID: "deep", Workdir: "/kept/two/web", ParentArmID: "below"}, nil, "/code/api + /code/web"},
		{coleo.Arm{ID: "beside", Workdir: "/kept/twofold", ParentArmID: "two"}, nil, "/kept/twofold"},
		{coleo.Arm{ID: "orphan", Workdir: "/code/web", ParentArmID: "gone"}, nil, "/code/web"},
		// an arm that is its own parent; the search must end
		{coleo.Arm{ID: "own", Workdir: "/code/web", ParentArmID: "own"}, nil, "/code/web"},
	} {
		c.arm.Name, c.arm.Harness, c.arm.Status = c.arm.ID, "claude-code", coleo.StatusIdle
		if c.config != nil {
			if c.arm.Config, err = json.Marshal(c.config); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.CreateArm(t.Context(), c.arm); err != nil {
			t.Fatal(err)
		}
		e := replyOf("r", coleo.Usage{Input: 1, Output: 1}, "m")
		e.Arm = c.arm.ID
		project(t, s, numbered("h1", uint64(i), e)...)
		list, err := s.Used(t.Context(), c.arm.ID, time.Time{})
		if err != nil || len(list) != 1 || list[0].Project != c.project {
			t.Errorf("%s: %+v, %v; want the project %s", c.arm.ID, list, err, c.project)
		}
	}
}
