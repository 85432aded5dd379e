package host

import (
	"context"
	"path/filepath"
	"strings"
	"sync"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/thread"
)

// threads contains the conversations of the agent CLIs on this machine.
type threads struct {
	keeper *thread.Keeper

	mu sync.Mutex
	// taking maps the id of a conversation to the id of the arm that is being started with it.
	taking map[string]string
}

func newThreads(c Config) threads {
	name := "threads"
	// Serve, the host "local", needs an index of its own, because only one process can use an index.
	if c.ID == coleo.LocalHost {
		name = "threads-local"
	}
	return threads{keeper: &thread.Keeper{Dir: c.Dir, Name: name}, taking: map[string]string{}}
}

// threadPlace returns the place of a harness's conversations in one HOME. Several harnesses can
// drive the same agent CLI, so the place names the harness under which the conversations are
// listed. threadPlace returns false if Coleo cannot list the conversations.
func (h *Host) threadPlace(harness, home string) (p thread.Place, ok bool) {
	got, err := h.Registry.Get(harness)
	if err != nil || home == "" {
		return p, false
	}
	if p, ok = h.placeOf(got, harness, home); !ok {
		return p, false
	}
	for _, name := range h.Registry.List() {
		if h.Registry.Base(name) == nil {
			continue
		}
		other, err := h.Registry.Get(name)
		if err != nil {
			continue
		}
		if o, ok := h.placeOf(other, name, home); ok && o.Source.Pattern == p.Source.Pattern {
			return o, true
		}
	}
	return p, true
}

// placeOf is thread.PlaceOf. In the user's own HOME, a variable of the user can name another folder.
func (h *Host) placeOf(got coleo.Harness, harness, home string) (p thread.Place, ok bool) {
	if p, ok = thread.PlaceOf(got, harness, home); !ok || home != h.userHome() {
		return p, ok
	}
	if folder := h.variable(p.Source.FolderEnv); filepath.IsAbs(folder) {
		p.Conversations = p.In(folder)
	}
	return p, true
}

// places returns each HOME in which an arm or the user of this machine uses an agent CLI.
func (h *Host) places() []thread.Place {
	var out []thread.Place
	seen := map[[2]string]bool{}
	add := func(harness, home string) {
		p, ok := h.threadPlace(harness, home)
		if at := [2]string{p.Harness, home}; ok && !seen[at] {
			seen[at] = true
			out = append(out, p)
		}
	}
	for _, name := range h.Registry.List() {
		add(name, h.userHome())
	}
	for _, a := range h.allArms() {
		a.mu.Lock()
		harness, home := a.record.Harness, a.home()
		a.mu.Unlock()
		add(harness, home)
	}
	return out
}

// userHome returns the HOME of the user who runs this host agent, or "".
func (h *Host) userHome() string { return h.variable("HOME") }

// variable returns the value of a variable of the user who runs this host agent, or "".
func (h *Host) variable(name string) string {
	for _, kv := range h.Environ {
		if value, ok := strings.CutPrefix(kv, name+"="); ok {
			return value
		}
	}
	return ""
}

// home returns the HOME of the arm's agent CLI. The caller holds a.mu.
func (a *arm) home() string {
	switch c := a.record.Spec; {
	case c.Scripted():
		return a.folder().File(scriptedHome)
	case c.Profile == coleo.ProfileHermetic:
		return c.Home
	}
	return a.host.userHome()
}

// listThreads lists conversations, or searches them.
func (h *Host) listThreads(ctx context.Context, f coleo.ThreadFilter) (any, error) {
	q := thread.Query{ThreadFilter: f}
	if p, ok := h.threadPlace(f.Harness, h.userHome()); ok {
		q.Harness = p.Harness
	}
	if f.Arm != "" {
		a, err := h.arm(f.Arm)
		if err != nil {
			return nil, err
		}
		a.mu.Lock()
		harness, home, folder := a.record.Harness, a.home(), a.record.Workdir
		a.mu.Unlock()
		p, ok := h.threadPlace(harness, home)
		if !ok {
			return nil, coleo.Errorf(coleo.EUnsupported, "Coleo cannot list the conversations of %s", harness)
		}
		q.Harnesses, q.Homes, q.Folder = []string{p.Harness}, []string{home}, folder
	}
	out, err := h.threads.keeper.List(ctx, h.places(), q)
	if err != nil {
		return nil, err
	}
	for i := range out.Threads {
		h.addHostFacts(&out.Threads[i])
	}
	return out, nil
}

// addHostFacts adds what this host knows about a conversation.
func (h *Host) addHostFacts(t *coleo.Thread) {
	t.Host = h.ID
	if t.Home == h.userHome() {
		t.Home = ""
	}
	t.Arm = h.holderOf(t.ID, "")
}

func (h *Host) showThread(ctx context.Context, o bus.ThreadOrder) (any, error) {
	page, err := h.threads.keeper.Show(ctx, h.places(), o.Harness, o.ID, o.After, o.Limit)
	if err != nil {
		return nil, err
	}
	h.addHostFacts(&page.Thread)
	return page, nil
}

// changeThread changes what Coleo stores about a conversation. It deletes no file while an arm has
// the conversation.
func (h *Host) changeThread(ctx context.Context, o bus.ThreadChangeOrder) (any, error) {
	if o.Change.Delete {
		free, err := h.takeThread(o.ID, "")
		if err != nil {
			return nil, err
		}
		defer free()
	}
	t, err := h.threads.keeper.Change(ctx, h.places(), o.Harness, o.ID, o.Change)
	if err != nil {
		return nil, err
	}
	h.addHostFacts(&t)
	return t, nil
}

// takeThread keeps everybody else from using a conversation until the caller calls free. It returns
// EThreadLocked if another live arm has the conversation, or is being started with it. `arm` is the
// id of the caller's arm, or "".
func (h *Host) takeThread(conversation, arm string) (free func(), err error) {
	h.threads.mu.Lock()
	defer h.threads.mu.Unlock()
	if other, taken := h.threads.taking[conversation]; taken && other != arm {
		return nil, lockedError(conversation, h.nameOf(other))
	}
	if name := h.holderOf(conversation, arm); name != "" {
		return nil, lockedError(conversation, name)
	}
	h.threads.taking[conversation] = arm
	return func() {
		h.threads.mu.Lock()
		defer h.threads.mu.Unlock()
		delete(h.threads.taking, conversation)
	}, nil
}

func lockedError(conversation, name string) error {
	return coleo.Errorf(coleo.EThreadLocked,
		"the conversation %s is in use by arm %s: nothing was done; 'coleo arm kill %s' frees it", conversation,
		name, name)
}

func (h *Host) nameOf(id string) string {
	if a, err := h.arm(id); err == nil {
		return a.name()
	}
	return "of another request"
}

// holderOf returns the name of the live arm that has a conversation, or "". It ignores the arm with
// the id `except`.
func (h *Host) holderOf(conversation, except string) string {
	if conversation == "" {
		return ""
	}
	for _, a := range h.allArms() {
		if a.record.ID != except && a.hasConversation(conversation) {
			return a.name()
		}
	}
	return ""
}

// hasConversation reports whether the arm has the conversation, and is live or may be live.
func (a *arm) hasConversation(conversation string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.session != nil {
		return a.session.Handle().Conversation == conversation
	}
	meant := a.record.Desired == coleo.DesiredRunning && a.record.Status != coleo.StatusStopped
	if a.gone || !meant && !a.silent || a.record.Handle == nil {
		return false
	}
	return a.record.Handle.Conversation == conversation
}
