// Package comments stores people's comments on lines of an arm's changes, until the comments are
// sent to the arm as one prompt.
package comments

import (
	"context"
	"time"

	"coleo.dev"
	"coleo.dev/brain/armvalue"
	"coleo.dev/changes"
	"coleo.dev/store"
)

// Config contains what UnsentStore needs.
type Config struct {
	DB     *store.ServeDB
	Find   func(ctx context.Context, idOrName string) (coleo.Arm, error) // returns the named arm, or ENotFound
	Prompt func(ctx context.Context, arm string, p coleo.Prompt, lease string) (coleo.Receipt, error)
	Now    func() time.Time
}

// UnsentStore stores the unsent comments of all arms. It is safe for concurrent use.
type UnsentStore struct {
	config Config
	values armvalue.Values[[]changes.Comment]
}

// New returns an UnsentStore that stores the comments in the database of c.
func New(c Config) *UnsentStore {
	empty := func(list []changes.Comment) bool { return len(list) == 0 }
	return &UnsentStore{config: c, values: armvalue.Values[[]changes.Comment]{DB: c.DB, Kind: "comments", Empty: empty}}
}

// Comments returns the unsent comments on an arm's changes. It returns ENotFound if there is no
// such arm.
func (c *UnsentStore) Comments(ctx context.Context, idOrName string) ([]changes.Comment, error) {
	arm, err := c.config.Find(ctx, idOrName)
	if err != nil {
		return nil, err
	}
	return c.values.Of(ctx, arm.ID)
}

// Comment stores a new comment, and returns all comments of the arm. It returns the errors of
// changes.AddComment, and ENotFound if there is no such arm.
func (c *UnsentStore) Comment(ctx context.Context, idOrName string, one changes.Comment) ([]changes.Comment, error) {
	arm, err := c.config.Find(ctx, idOrName)
	if err != nil {
		return nil, err
	}
	one.Time = c.config.Now().UTC()
	list, err := c.values.Change(ctx, arm.ID, func(list []changes.Comment) ([]changes.Comment, error) {
		return changes.AddComment(list, one)
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// DropComments deletes the comments of an arm, and returns the deleted comments. It returns
// ENotFound if there is no such arm.
func (c *UnsentStore) DropComments(ctx context.Context, idOrName string) (dropped []changes.Comment, err error) {
	arm, err := c.config.Find(ctx, idOrName)
	if err != nil {
		return nil, err
	}
	_, err = c.values.Change(ctx, arm.ID, func(list []changes.Comment) ([]changes.Comment, error) {
		dropped = list
		return nil, nil
	})
	return dropped, err
}

// SendComments sends all comments of an arm as one prompt, and then deletes them. After an error,
// SendComments deletes no comments, even if the prompt may have arrived. It returns EConflict if
// there are no comments. It also returns the errors of Prompt.
func (c *UnsentStore) SendComments(ctx context.Context, idOrName string) (sent changes.Sent, err error) {
	arm, err := c.config.Find(ctx, idOrName)
	if err != nil {
		return changes.Sent{}, err
	}
	_, err = c.values.Change(ctx, arm.ID, func(list []changes.Comment) ([]changes.Comment, error) {
		if len(list) == 0 {
			return list, coleo.Errorf(coleo.EConflict, "arm %s has no comments: nothing was sent", arm.Name)
		}
		receipt, err := c.config.Prompt(ctx, arm.ID, coleo.Prompt{Text: changes.CommentPrompt(list)}, "")
		if err != nil {
			return list, err
		}
		sent = changes.Sent{Comments: len(list), Receipt: receipt}
		return nil, nil
	})
	return sent, err
}

// ForgetComments deletes the comments of the arm with the given id.
func (c *UnsentStore) ForgetComments(ctx context.Context, arm string) error {
	return c.values.Forget(ctx, arm)
}
