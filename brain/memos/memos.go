// Package memos stores the memos of arms. A memo is a JSON value that people and programs can store
// together with an arm.
//
// Package memo decides which changes of a memo are valid.
package memos

import (
	"context"
	"encoding/json"
	"time"

	"coleo.dev"
	"coleo.dev/brain/armvalue"
	"coleo.dev/memo"
	"coleo.dev/store"
	"coleo.dev/wire"
)

// Memos contains the memos of all arms. It is safe for concurrent use.
type Memos struct {
	values armvalue.Values[wire.Memo]
	find   func(ctx context.Context, idOrName string) (coleo.Arm, error)
	now    func() time.Time
}

// New returns the memos in a database. The function `find` must return the arm with a given id or name, or
// ENotFound.
func New(db *store.ServeDB, find func(context.Context, string) (coleo.Arm, error), now func() time.Time) *Memos {
	empty := func(m wire.Memo) bool { return len(m.Value) == 0 && len(m.Schema) == 0 }
	return &Memos{find: find, now: now, values: armvalue.Values[wire.Memo]{DB: db, Kind: "memo", Empty: empty}}
}

// Memo returns the memo of an arm. It returns ENotFound if there is no such arm.
func (m *Memos) Memo(ctx context.Context, idOrName string) (wire.Memo, error) {
	arm, err := m.find(ctx, idOrName)
	if err != nil {
		return wire.Memo{}, err
	}
	return m.values.Of(ctx, arm.ID)
}

// SetMemo replaces the value of an arm's memo. It returns ENotFound if there is no such arm. If the
// value is too large or does not fit the memo's schema, SetMemo returns EInvalid. After an error,
// the memo is unchanged.
func (m *Memos) SetMemo(ctx context.Context, idOrName string, value json.RawMessage) (wire.Memo, error) {
	return m.change(ctx, idOrName, func(old wire.Memo) (wire.Memo, error) { return memo.Set(old, value, m.now()) })
}

// PatchMemo changes a part of the value of an arm's memo, by the rules of JSON Merge Patch. It returns
// the errors of SetMemo.
func (m *Memos) PatchMemo(ctx context.Context, idOrName string, patch json.RawMessage) (wire.Memo, error) {
	return m.change(ctx, idOrName, func(old wire.Memo) (wire.Memo, error) { return memo.Merge(old, patch, m.now()) })
}

func (m *Memos) change(ctx context.Context, idOrName string,
	change func(wire.Memo) (wire.Memo, error)) (wire.Memo, error) {
	arm, err := m.find(ctx, idOrName)
	if err != nil {
		return wire.Memo{}, err
	}
	return m.values.Change(ctx, arm.ID, func(old wire.Memo) (wire.Memo, error) {
		next, err := change(old)
		if err != nil {
			return old, coleo.Errorf(coleo.ErrorCode(err), "the memo of arm %s is unchanged: %v", arm.Name, err)
		}
		return next, nil
	})
}

// SetMemoSchema sets the schema of an arm's memo before the arm is started. If the schema is empty,
// SetMemoSchema changes nothing. The returned function restores the memo. SetMemoSchema returns
// EInvalid for a wrong schema.
func (m *Memos) SetMemoSchema(ctx context.Context, arm string, schema json.RawMessage) (undo func(), err error) {
	if len(schema) == 0 {
		return func() {}, nil
	}
	var was wire.Memo
	_, err = m.values.Change(ctx, arm, func(old wire.Memo) (wire.Memo, error) {
		was = old
		return memo.WithSchema(old, schema)
	})
	if err != nil {
		return nil, coleo.Errorf(coleo.ErrorCode(err), "nothing was started: %v", err)
	}
	return func() {
		// Ignore an error here, because the caller returns the error of the start.
		_, _ = m.values.Change(context.WithoutCancel(ctx), arm, func(wire.Memo) (wire.Memo, error) { return was, nil })
	}, nil
}

// ForgetMemo deletes the memo of the arm with the given id.
func (m *Memos) ForgetMemo(ctx context.Context, arm string) error { return m.values.Forget(ctx, arm) }
