package terminal

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/record"
)

// folderRecords contains the records of all conversations in a work folder. A Tail of it returns all entries again
// when it is opened again.
type folderRecords struct {
	mu   sync.Mutex
	list []string // the ids of the conversations, newest first
	by   map[string][]record.Entry
}

// begin adds a conversation with one prompt.
func (r *folderRecords) begin(t *testing.T, home, id, prompt string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append([]string{id}, r.list...)
	r.by[id] = []record.Entry{{Kind: record.Prompt, Text: prompt, ByUser: true, Time: time.Now()}}
	if err := os.WriteFile(filepath.Join(home, id+".log"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

func (r *folderRecords) conversation(_ context.Context, f Facts) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range r.list {
		if f.Mine(id, time.Now()) {
			return id, nil
		}
	}
	return "", nil
}

func (r *folderRecords) open(path string, _ record.Where) record.Tail {
	return &silentRecord{entries: slices.Clone(r.by[strings.TrimSuffix(filepath.Base(path), ".log")])}
}

func setFolderStage(t *testing.T) (*stage, *session, *folderRecords, string) {
	t.Helper()
	home, all := t.TempDir(), &folderRecords{by: map[string][]record.Entry{}}
	hooks := Hooks{Conversation: all.conversation, Record: record.Source{Pattern: "{id}.log", Open: all.open}}
	st, s := setStageWith(t, recordSpec, hooks, coleo.SpawnConfig{Cols: 40, Rows: 8, Environ: []string{"HOME=" + home}})
	st.say(s, []byte(composing("")))
	st.await("it is idle", func() bool { return s.State().State == coleo.Idle })
	return st, s, all, home
}

// turnsOf returns the prompts of the turns that the session has reported.
func turnsOf(s *session) (out []string) {
	list, _ := s.log.after(0)
	for _, c := range list {
		if c.Kind == coleo.ChangeTurn {
			out = append(out, c.Note)
		}
	}
	return out
}

// The user, or another arm, runs the same agent CLI in the same folder. An arm without a prompt must not
// follow the conversation of that agent CLI. Otherwise the arm would report the work, the runs and the
// answers of that conversation, and would later resume it.
func TestAConversationOfAnotherProgramInTheFolderIsNotFollowed(t *testing.T) {
	t.Parallel()
	_, s, all, home := setFolderStage(t)
	all.begin(t, home, "theirs", "their prompt")
	s.record.follower.Wake()
	s.record.catchUp()
	s.findConversation()
	if now := s.State(); now.State != coleo.Idle || s.conversation.get() != "" || len(turnsOf(s)) > 0 {
		t.Errorf("it is %s by %q, in the conversation %q, with the turns %q", now.State, now.Rule, s.conversation.get(),
			turnsOf(s))
	}

	s.rememberPrompt("my\x1b prompt", time.Now())
	if got := s.whereRecorded().Conversation; got != "" {
		t.Errorf("before the agent CLI has recorded its prompt, it follows %q", got)
	}
	all.begin(t, home, "mine", "my  prompt")
	all.begin(t, home, "theirs2", "their next prompt")
	if s.findConversation(); s.conversation.get() != "mine" {
		t.Errorf("after its own prompt, it has the conversation %q", s.conversation.get())
	}
}

func TestAConversationThatAPersonBeginsInTheArmIsFollowed(t *testing.T) {
	t.Parallel()
	_, s, all, home := setFolderStage(t)
	if err := s.Input(t.Context(), []byte("x")); err != nil {
		t.Fatal(err)
	}
	all.begin(t, home, "one", "typed by hand")
	if s.findConversation(); s.conversation.get() != "one" {
		t.Errorf("it has the conversation %q", s.conversation.get())
	}
}

// A restarted host agent does not know what it has typed. It only knows the run that is open. The prompt of
// this run must be enough to find the arm's conversation.
func TestTheConversationOfAnOpenRunIsFollowedAfterARestart(t *testing.T) {
	t.Parallel()
	_, s, all, home := setFolderStage(t)
	sent := time.Now()
	all.begin(t, home, "mine", "my prompt")
	all.begin(t, home, "theirs", "their prompt")
	s.ContinueTurn(coleo.Receipt{Text: "my prompt", Time: sent})
	if s.findConversation(); s.conversation.get() != "mine" {
		t.Errorf("it has the conversation %q", s.conversation.get())
	}
}

// Two arms run the same agent CLI in one folder, and both get the same first prompt. Neither arm may take the
// conversation of the other arm, because it would then report the other arm's answers.
func TestTwoArmsWithTheSamePromptDoNotSwapTheirConversations(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sent     [2]time.Duration // when each arm got the prompt
		recorded [2]time.Duration // when each agent CLI has recorded it
		want     [2]string
	}{
		"one after the other": {[2]time.Duration{0, 2 * time.Second}, [2]time.Duration{1 * time.Second, 3 * time.Second},
			[2]string{"one", "two"}},
		"at the same time": {[2]time.Duration{}, [2]time.Duration{1 * time.Second, 3 * time.Second}, [2]string{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, a, all, home := setFolderStage(t)
			start := time.Now()
			arms := [2]*session{a, {harness: a.harness, facts: a.facts, typist: a.typist}}
			records := func(id, prompt string, after time.Duration) {
				all.begin(t, home, id, prompt)
				all.by[id][0].Time = start.Add(after)
			}
			follow := func() (out [2]string) {
				for i, s := range arms {
					out[i] = s.whereRecorded().Conversation
				}
				return out
			}
			for i := range arms {
				arms[i].rememberPrompt("go on", start.Add(c.sent[i]))
			}
			records("one", "go on", c.recorded[0])
			follow()
			records("two", "go on", c.recorded[1])
			if got := follow(); got != c.want {
				t.Errorf("the arms follow %q, want %q", got, c.want)
			}
			arms[1].rememberPrompt("and now this", start.Add(4*time.Second))
			records("two", "and now this", 5*time.Second)
			follow() // the second arm finds its conversation
			if got := follow(); got != [2]string{"one", "two"} {
				t.Errorf("after another prompt, the arms follow %q", got)
			}
		})
	}
}
