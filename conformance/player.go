package conformance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"coleo.dev"
	"coleo.dev/conformance/modelserver"
)

// tryKeys presses keys one after another until a key has an effect. It returns the time
// at which it pressed that key. If no key has an effect, tryKeys returns an error.
func (p *player) tryKeys(keys []string, hasEffect func() bool) (time.Time, error) {
	for _, key := range keys {
		at := time.Now()
		if err := p.press(key); err != nil {
			return at, err
		}
		for time.Since(at) < effectTimeout {
			if hasEffect() {
				return at, nil
			}
			if waitFor(p.ctx, playPoll); p.ctx.Err() != nil {
				return at, context.Cause(p.ctx)
			}
		}
	}
	return time.Time{}, fmt.Errorf("%q were pressed", keys)
}

func (p *player) press(keys string) error {
	term, ok := p.Session.(coleo.Terminal)
	if !ok {
		return errors.New("the session has no screen")
	}
	return term.Input(p.ctx, []byte(keys))
}

// picture returns the rows of the screen as one text, so that two screens can be compared.
func (p *player) picture() string {
	term, ok := p.Session.(coleo.Terminal)
	if !ok {
		return ""
	}
	return strings.Join(term.Screen().Lines, "\n")
}

// waitForQuiet waits until the model has answered all requests and the screen has stayed unchanged
// for the time d. It returns the time of the screen's last change. If the screen does not stop
// changing, waitForQuiet returns after quietTimeout.
func (p *player) waitForQuiet(d time.Duration) (time.Time, error) {
	for p.isAsked() {
		if waitFor(p.ctx, playPoll); p.ctx.Err() != nil {
			return time.Now(), context.Cause(p.ctx)
		}
	}
	return p.waitUnchanged(d)
}

// isAsked reports whether the model has a request that is not yet completely answered.
func (p *player) isAsked() bool {
	return slices.ContainsFunc(p.Model.Record(), func(q modelserver.Request) bool {
		return !q.Done && !q.Aborted
	})
}

// waitUnchanged waits for a period of length d in which the screen does not change and the model
// has no open request. It returns the beginning of this period. It waits for at most quietTimeout.
func (p *player) waitUnchanged(d time.Duration) (since time.Time, err error) {
	since = time.Now()
	before, end := p.picture(), time.Now().Add(quietTimeout)
	for time.Since(since) < d && time.Now().Before(end) {
		if waitFor(p.ctx, playPoll); p.ctx.Err() != nil {
			return since, context.Cause(p.ctx)
		}
		if now := p.picture(); now != before || p.isAsked() {
			before, since = now, time.Now()
		}
	}
	return since, nil
}

// lastReply returns the time at which the model sent the last byte of its latest reply. Replies to
// side requests do not count.
func (p *player) lastReply() (last time.Time) {
	for _, q := range p.Model.Record() {
		if q.Side == "" {
			last = later(last, q.Last)
		}
	}
	return last
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// modifiedAt returns the time at which a file was last written. If there is no file, it
// returns the zero time.
func modifiedAt(path string) time.Time {
	info, err := os.Stat(path)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
