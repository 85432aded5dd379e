package api

import (
	"context"
	"fmt"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/changes"
)

func (b *scriptedBrain) Diff(_ context.Context, arm string, w changes.DiffRequest, why bool) (changes.Diff, error) {
	d := changes.Diff{Root: fmt.Sprint(arm, w.Paths, w.Stat, w.Binary, why), Files: []changes.File{},
		Patch: []byte("p\xff")}
	if w.Checkpoint != nil {
		d.Base = fmt.Sprint(*w.Checkpoint)
	}
	if w.Wait > 0 {
		d.Mark = fmt.Sprint(w.Since, " ", w.Wait)
	}
	return d, b.fail
}

func (b *scriptedBrain) Checkpoints(_ context.Context, arm string) ([]changes.Checkpoint, error) {
	return []changes.Checkpoint{{N: 3, Commit: arm}}, b.fail
}

func (b *scriptedBrain) Restore(_ context.Context, arm string, n int) (changes.Restored, error) {
	return changes.Restored{N: n, Before: n + 1, Written: []string{arm}}, b.fail
}

func (b *scriptedBrain) Merge(_ context.Context, arm string, w changes.MergeRequest, by string,
	ask bool) (changes.Merged, error) {
	m := changes.Merged{DryRun: w.DryRun}
	m.Way, m.Into, m.Branch = w.Way, w.Into+w.Commit+w.Message, fmt.Sprint(arm, ask, by != "")
	return m, b.fail
}

func (b *scriptedBrain) Comments(_ context.Context, arm string) ([]changes.Comment, error) {
	return []changes.Comment{{Path: arm, Line: 1}}, b.fail
}

func (b *scriptedBrain) Comment(_ context.Context, arm string, c changes.Comment) ([]changes.Comment, error) {
	return []changes.Comment{{Path: arm}, c}, b.fail
}

func (b *scriptedBrain) DropComments(context.Context, string) ([]changes.Comment, error) {
	return []changes.Comment{{Line: 7}}, b.fail
}

func (b *scriptedBrain) SendComments(_ context.Context, arm string) (changes.Sent, error) {
	s := changes.Sent{Comments: 3}
	s.Receipt.ID = arm
	return s, b.fail
}

func TestEveryRouteOfCommentsThroughItsClient(t *testing.T) {
	t.Parallel()
	c, ctx := socketClient(t, newServer(t, &scriptedBrain{})), t.Context()
	for want, call := range map[string]func() (any, error){
		"comments a1 1": func() (any, error) {
			l, err := c.Comments(ctx, "a1")
			return fmt.Sprint("comments ", l[0].Path, " ", l[0].Line), err
		},
		"comment 2 f 12 why?": func() (any, error) {
			l, err := c.Comment(ctx, "a1", changes.Comment{Path: "f", Line: 12, Text: "why?"})
			return fmt.Sprint("comment ", len(l), " ", l[1].Path, " ", l[1].Line, " ", l[1].Text), err
		},
		"squash main fix words a1 true true true": func() (any, error) {
			m, err := c.Merge(ctx, "a1", changes.MergeRequest{Way: changes.WaySquash, Into: "main ", Commit: "fix ",
				Message: "words", DryRun: true}, true)
			return fmt.Sprint(m.Way, " ", m.Into, " ", m.Branch[:2], " ", m.Branch[2:], " ", m.DryRun), err
		},
		"dropped comments 7": func() (any, error) {
			l, err := c.DropComments(ctx, "a1")
			return fmt.Sprint("dropped comments ", l[0].Line), err
		},
		"sent 3 a1": func() (any, error) {
			r, err := c.SendComments(ctx, "a1")
			return fmt.Sprint("sent ", r.Comments, " ", r.Receipt.ID), err
		},
	} {
		if got, err := call(); err != nil || got != want {
			t.Errorf("got %v, %v, want %s", got, err, want)
		}
	}
}

// TestTheWishToFollowArrives sends the parameters "since" and "wait" to both routes of a diff. Each
// route must pass them to the brain, and must refuse values that make no sense.
func TestTheWishToFollowArrives(t *testing.T) {
	t.Parallel()
	c, ctx := socketClient(t, newServer(t, &scriptedBrain{})), t.Context()
	n := 1
	for name, test := range map[string]struct {
		request changes.DiffRequest
		mark    string
		code    coleo.Code
	}{
		"no request":         {changes.DiffRequest{}, "", ""},
		"the first diff":     {changes.DiffRequest{Wait: time.Minute}, " 1m0s", ""},
		"the next diff":      {changes.DiffRequest{Wait: time.Minute, Since: "m"}, "m 1m0s", ""},
		"the next files":     {changes.DiffRequest{Stat: true, Wait: time.Minute, Since: "m"}, "m 1m0s", ""},
		"too long":           {changes.DiffRequest{Wait: time.Hour}, "", coleo.EInvalid},
		"that of checkpoint": {changes.DiffRequest{Wait: time.Minute, Checkpoint: &n}, "", coleo.EInvalid},
	} {
		d, err := c.Diff(ctx, "a1", test.request, false)
		if coleo.ErrorCode(err) != test.code || d.Mark != test.mark {
			t.Errorf("%s: the mark is %q, want %q; %v", name, d.Mark, test.mark, err)
		}
	}
}
