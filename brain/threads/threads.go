// Package threads lists, searches and changes the conversations of agent CLIs on all hosts, and
// finds out which arm has a conversation.
//
// Package threads starts no arm and reads no file, because the hosts read the agent CLIs' records.
package threads

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/store"
)

// Config contains what Conversations needs.
type Config struct {
	DB   *store.ServeDB
	Find func(ctx context.Context, idOrName string) (coleo.Arm, error) // returns the named arm, or ENotFound
	// Hosts returns the hosts that can list conversations.
	Hosts func() []string
	// Ask sends an order to a host, waits for the report for at most the time limit, and decodes the report
	// into `out`.
	Ask func(ctx context.Context, host string, op bus.Op, limit time.Duration, in, out any) error
}

// Conversations gives access to the conversations of all hosts. It is safe for concurrent use.
type Conversations struct{ config Config }

// New returns a Conversations for the hosts that c.Hosts returns.
func New(c Config) *Conversations { return &Conversations{c} }

// Threads returns the conversations of agent CLIs on all hosts, newest first. For a search, the
// best match comes first. If some hosts cannot be asked, the result names them. Threads returns an
// error if no host can be asked. It returns EUnsupported if a search is not possible, and EInvalid
// for a search without a word. It returns ENotFound if the arm in f.Arm does not exist.
func (v *Conversations) Threads(ctx context.Context, f coleo.ThreadFilter) (coleo.ThreadList, error) {
	hosts := v.config.Hosts()
	if f.Arm != "" {
		arm, err := v.config.Find(ctx, f.Arm)
		if err != nil {
			return coleo.ThreadList{}, err
		}
		f.Arm, hosts = arm.ID, []string{arm.AgentID}
	}
	var mu sync.Mutex
	var asking sync.WaitGroup
	var out coleo.ThreadList
	var failed []error
	for _, host := range hosts {
		asking.Go(func() {
			var list coleo.ThreadList
			err := v.config.Ask(ctx, host, bus.OpThreads, bus.DefaultTimeout, f, &list)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed = append(failed, err)
				out.Failed = append(out.Failed, fmt.Sprintf("%s: %v", host, err))
				return
			}
			out.Threads = append(out.Threads, list.Threads...)
			out.Unread += list.Unread
			out.Failed = append(out.Failed, list.Failed...)
		})
	}
	asking.Wait()
	if len(failed) == len(hosts) {
		if len(hosts) == 0 {
			return out, noThreadHost()
		}
		return out, failed[0]
	}
	out.Threads = mergeThreads(out.Threads, f)
	return out, nil
}

func noThreadHost() error {
	return coleo.Errorf(coleo.EUnavailable, "no host agent runs that could list conversations: 'coleo up' starts one")
}

// mergeThreads sorts the conversations of several hosts. If two hosts on this machine have read the same
// file, the result contains its conversation only once.
func mergeThreads(list []coleo.Thread, f coleo.ThreadFilter) []coleo.Thread {
	slices.SortStableFunc(list, func(x, y coleo.Thread) int {
		if f.Words != "" {
			if order := cmp.Compare(x.Rank, y.Rank); order != 0 {
				return order
			}
		}
		return y.Last.Compare(x.Last)
	})
	at := map[string]int{}
	var out []coleo.Thread
	for _, t := range list {
		key := t.Harness + "\n" + t.ID + "\n" + t.Path
		i, seen := at[key]
		switch {
		case !seen:
			at[key] = len(out)
			out = append(out, t)
		case out[i].Arm == "":
			out[i].Arm = t.Arm
		}
	}
	if f.Limit > 0 && len(out) > f.Limit {
		out = out[:f.Limit]
	}
	return out
}

// onThread sends an order about one conversation to each host in turn, until one of them
// knows the conversation. It returns ENotFound if no host knows the conversation.
func (v *Conversations) onThread(ctx context.Context, op bus.Op, in, out any) error {
	err := noThreadHost()
	for _, host := range v.config.Hosts() {
		if err = v.config.Ask(ctx, host, op, bus.DefaultTimeout, in, out); coleo.ErrorCode(err) != coleo.ENotFound {
			return err
		}
	}
	return err
}

// Thread returns a conversation and some of its messages, beginning with the message number after+1. It
// returns at most `limit` messages, and none if `limit` is 0. If `harness` is empty, the conversation can
// belong to any harness. Thread returns ENotFound if there is no such conversation.
func (v *Conversations) Thread(ctx context.Context, harness, id string, after, limit int) (coleo.ThreadPage, error) {
	var page coleo.ThreadPage
	err := v.onThread(ctx, bus.OpThread, bus.ThreadOrder{Harness: harness, ID: id, After: after, Limit: limit}, &page)
	if err == nil && page.Thread.Arm == "" {
		page.Thread.Arm, err = v.armOfThread(ctx, id, "")
	}
	return page, err
}

// ChangeThread changes what Coleo stores about a conversation. It returns ENotFound if there is no
// such conversation. If the change is a deletion and an arm has the conversation, it returns
// EThreadLocked.
func (v *Conversations) ChangeThread(ctx context.Context, harness, id string, c coleo.ThreadChange) (coleo.Thread,
	error) {
	if c.Delete {
		if err := v.CheckThreadFree(ctx, id, ""); err != nil {
			return coleo.Thread{}, err
		}
	}
	var t coleo.Thread
	err := v.onThread(ctx, bus.OpThreadChange, bus.ThreadChangeOrder{Harness: harness, ID: id, Change: c}, &t)
	return t, err
}

// armOfThread returns the name of the arm that has a conversation, or "" if no arm has it. It
// ignores the arm with the id exceptArm. It searches serve's rows, because a host knows only its
// own arms.
func (v *Conversations) armOfThread(ctx context.Context, conversation, exceptArm string) (string, error) {
	arms, err := v.config.DB.Arms(ctx, true)
	if err != nil {
		return "", err
	}
	for _, arm := range arms {
		if arm.ID != exceptArm && arm.SessionID == conversation && arm.Status != coleo.StatusStopped {
			return arm.Name, nil
		}
	}
	return "", nil
}

// CheckThreadFree returns EThreadLocked if an arm that has not ended has the conversation. It
// ignores the arm with the id exceptArm.
func (v *Conversations) CheckThreadFree(ctx context.Context, conversation, exceptArm string) error {
	name, err := v.armOfThread(ctx, conversation, exceptArm)
	if err != nil || name == "" {
		return err
	}
	return coleo.Errorf(coleo.EThreadLocked,
		"the conversation %s is in use by arm %s: nothing was done; 'coleo arm kill %s' frees it", conversation,
		name, name)
}

// NoConversation returns the error for an arm that has no conversation yet.
func NoConversation(arm coleo.Arm) error {
	return coleo.Errorf(coleo.ENotFound, "arm %s has no conversation yet: it begins with the first prompt", arm.Name)
}

// ArmThread returns the conversation that an arm has now. If the arm has ended, ArmThread returns
// the arm's last conversation. It returns ENotFound if there is no such arm, or if the arm has no
// conversation yet.
func (v *Conversations) ArmThread(ctx context.Context, idOrName string) (coleo.Thread, error) {
	arm, err := v.config.Find(ctx, idOrName)
	if err != nil {
		return coleo.Thread{}, err
	}
	if arm.SessionID == "" {
		return coleo.Thread{}, NoConversation(arm)
	}
	page, err := v.Thread(ctx, "", arm.SessionID, 0, 0)
	switch {
	case err == nil:
		return page.Thread, nil
	case coleo.ErrorCode(err) != coleo.ENotFound:
		return coleo.Thread{}, err
	}
	// Coleo has not found the conversation, because the agent CLI has written nothing yet, or
	// because Coleo cannot read its files.
	t := coleo.Thread{ID: arm.SessionID, Harness: arm.Harness, Host: arm.AgentID, Folder: arm.Workdir}
	if arm.Status != coleo.StatusStopped {
		t.Arm = arm.Name
	}
	return t, nil
}
