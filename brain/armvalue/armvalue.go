// Package armvalue stores one JSON value per arm in serve.db, such as the arm's memo.
//
// It does not interpret the values.
package armvalue

import (
	"context"
	"encoding/json"
	"sync"

	"coleo.dev/store"
)

// Values contains one value for each arm, all of the same kind. It is safe for concurrent use.
type Values[T any] struct {
	DB    *store.ServeDB
	Kind  string       // the first part of the names of the settings that contain the values, such as "memo"
	Empty func(T) bool // reports whether a value is empty; empty values are not stored

	mu    sync.Mutex
	locks map[string]*lock // the locks of the values that are being changed, by arm id
}

// lock is held while the value of one arm is changed.
type lock struct {
	sync.Mutex
	users int // the number of callers that hold the lock or wait for it
}

// acquire waits until no other caller changes the arm's value, and locks the value. The caller must
// call release.
func (v *Values[T]) acquire(arm string) (release func()) {
	v.mu.Lock()
	if v.locks == nil {
		v.locks = map[string]*lock{}
	}
	l := v.locks[arm]
	if l == nil {
		l = &lock{}
		v.locks[arm] = l
	}
	l.users++
	v.mu.Unlock()
	l.Lock()
	return func() {
		l.Unlock()
		v.mu.Lock()
		defer v.mu.Unlock()
		if l.users--; l.users == 0 {
			delete(v.locks, arm)
		}
	}
}

func (v *Values[T]) settingKey(arm string) string { return v.Kind + "." + arm }

// Of returns the value of the arm with the given id, or the zero value if the arm has none.
func (v *Values[T]) Of(ctx context.Context, arm string) (value T, err error) {
	text, err := v.DB.Setting(ctx, v.settingKey(arm))
	if err == nil && text != "" {
		err = json.Unmarshal([]byte(text), &value)
	}
	return value, err
}

// Change calls a function with an arm's value, and stores and returns the function's result. If the
// function returns an error, the value stays unchanged. While the function runs, no other caller
// can change the value of this arm. If the function succeeds, Change writes the result even if ctx
// has ended.
func (v *Values[T]) Change(ctx context.Context, arm string, change func(T) (T, error)) (T, error) {
	defer v.acquire(arm)()
	value, err := v.Of(ctx, arm)
	if err != nil {
		return value, err
	}
	if value, err = change(value); err != nil {
		return value, err
	}
	text := ""
	if !v.Empty(value) {
		raw, err := json.Marshal(value)
		if err != nil {
			return value, err
		}
		text = string(raw)
	}
	return value, v.DB.SetSetting(context.WithoutCancel(ctx), v.settingKey(arm), text)
}

// Forget deletes the value of an arm.
func (v *Values[T]) Forget(ctx context.Context, arm string) error {
	defer v.acquire(arm)()
	return v.DB.SetSetting(ctx, v.settingKey(arm), "")
}
