package comments

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/changes"
	"coleo.dev/store"
)

// newStore returns an UnsentStore with a new database. It accepts every text as the id of an arm.
func newStore(t *testing.T, prompt func(arm, text string) error) *UnsentStore {
	t.Helper()
	db, err := store.OpenServe(filepath.Join(t.TempDir(), "serve.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return New(Config{DB: db, Now: time.Now,
		Find: func(_ context.Context, word string) (coleo.Arm, error) { return coleo.Arm{ID: word, Name: word}, nil },
		Prompt: func(_ context.Context, arm string, p coleo.Prompt, _ string) (coleo.Receipt, error) {
			return coleo.Receipt{}, prompt(arm, p.Text)
		}})
}

func comment(t *testing.T, c *UnsentStore, arm, text string) {
	t.Helper()
	if _, err := c.Comment(t.Context(), arm, changes.Comment{Path: "a.go", Line: 1, Text: text}); err != nil {
		t.Fatal(err)
	}
}

func TestSentCommentsAreDeleted(t *testing.T) {
	t.Parallel()
	var typed string
	c := newStore(t, func(_, text string) error { typed = text; return nil })
	comment(t, c, "a1", "rename this")
	sent, err := c.SendComments(t.Context(), "a1")
	if err != nil || sent.Comments != 1 || !strings.Contains(typed, "rename this") {
		t.Errorf("SendComments = %+v (%v), and has typed %q", sent, err, typed)
	}
	if list, err := c.Comments(t.Context(), "a1"); err != nil || len(list) != 0 {
		t.Errorf("the sent comments are kept: %v (%v)", list, err)
	}
	if _, err := c.SendComments(t.Context(), "a1"); coleo.ErrorCode(err) != coleo.EConflict {
		t.Errorf("without comments: %v, want EConflict", err)
	}
}

func TestCommentsThatWereNotSentAreKept(t *testing.T) {
	t.Parallel()
	lost := errors.New("lost")
	c := newStore(t, func(string, string) error { return lost })
	comment(t, c, "a1", "rename this")
	if _, err := c.SendComments(t.Context(), "a1"); !errors.Is(err, lost) {
		t.Errorf("SendComments = %v, want the error of Prompt", err)
	}
	if list, err := c.Comments(t.Context(), "a1"); err != nil || len(list) != 1 {
		t.Errorf("after a failed prompt: %v (%v)", list, err)
	}
}

// To send a prompt can take minutes. In the meantime, people must be able to comment on the changes
// of other arms.
func TestAPromptBeingTypedDelaysNoOtherArm(t *testing.T) {
	t.Parallel()
	typing, finish := make(chan bool), make(chan bool)
	c := newStore(t, func(arm, _ string) error {
		if arm == "slow" {
			close(typing)
			<-finish
		}
		return nil
	})
	comment(t, c, "slow", "one")
	var slow sync.WaitGroup
	slow.Go(func() {
		if _, err := c.SendComments(t.Context(), "slow"); err != nil {
			t.Error(err)
		}
	})
	<-typing
	comment(t, c, "quick", "two")
	if sent, err := c.SendComments(t.Context(), "quick"); err != nil || sent.Comments != 1 {
		t.Errorf("while a prompt is typed into another arm: %+v (%v)", sent, err)
	}
	close(finish)
	slow.Wait()
}
