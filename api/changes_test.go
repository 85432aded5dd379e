package api

import (
	"context"
	"fmt"

	"coleo.dev/changes"
)

func (b *scriptedBrain) Diff(_ context.Context, arm string, w changes.Wish, why bool) (changes.Diff, error) {
	d := changes.Diff{Root: fmt.Sprint(arm, w.Paths, w.Stat, w.Binary, why), Files: []changes.File{}, Patch: []byte("p\xff")}
	if w.Checkpoint != nil {
		d.Base = fmt.Sprint(*w.Checkpoint)
	}
	return d, b.fail
}

func (b *scriptedBrain) Checkpoints(_ context.Context, arm string) ([]changes.Checkpoint, error) {
	return []changes.Checkpoint{{N: 3, Commit: arm}}, b.fail
}

func (b *scriptedBrain) Restore(_ context.Context, arm string, n int) (changes.Restored, error) {
	return changes.Restored{N: n, Before: n + 1, Written: []string{arm}}, b.fail
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
