// Package armvalue keeps a JSON value for each arm in serve.db, such as the arm's memo.
//
// It does not know what the values mean.
package armvalue

import (
	"context"
	"encoding/json"
	"sync"

	"coleo.dev/store"
)

// Values are the values of one kind, one for each arm. Values is safe for concurrent use.
type Values[T any] struct {
	DB    *store.ServeDB
	Kind  string       // the first part of the setting's name, such as "memo"
	Empty func(T) bool // an empty value takes no room in the database

	mu    sync.Mutex
	locks map[string]*lock // one for each arm whose value is being changed, by arm id
}

// lock is held while the value of one arm is changed.
type lock struct {
	sync.Mutex
	users int // the callers that hold the lock or wait for it
}

// acquire returns when no other caller changes the arm's value. The caller must call release.
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

func (v *Values[T]) setting(arm string) string { return v.Kind + "." + arm }

// Of returns the value of the arm with the given id. An arm without a value has the zero value.
func (v *Values[T]) Of(ctx context.Context, arm string) (value T, err error) {
	text, err := v.DB.Setting(ctx, v.setting(arm))
	if err == nil && text != "" {
		err = json.Unmarshal([]byte(text), &value)
	}
	return value, err
}

// Change stores what the function makes of an arm's value, and returns it. After an error of the
// function, the value is unchanged. While the function runs, no other change of this arm's value begins.
// Values of other arms can be changed. If the function has succeeded, the end of ctx does not stop the
// write.
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
	return value, v.DB.SetSetting(context.WithoutCancel(ctx), v.setting(arm), text)
}

// Forget deletes the value of an arm.
func (v *Values[T]) Forget(ctx context.Context, arm string) error {
	defer v.acquire(arm)()
	return v.DB.SetSetting(ctx, v.setting(arm), "")
}
