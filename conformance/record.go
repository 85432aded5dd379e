package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"coleo.dev"
	"coleo.dev/holder"
	"coleo.dev/holder/journal"
)

// Moment is a change of a session in the form for programs: one JSON object.
type Moment struct {
	T      float64       `json:"t"` // seconds since the beginning
	State  coleo.State   `json:"state"`
	Rule   string        `json:"rule"`
	Dialog *coleo.Dialog `json:"dialog"`
	Detail string        `json:"detail,omitempty"`
	Known  bool          `json:"known"`           // a rule knows the screen; without one nothing may be typed
	Event  string        `json:"event,omitempty"` // the kind of change, unless it is a change of the reading
	Note   string        `json:"note,omitempty"`
}

// MomentOf returns a change as a Moment. after is the time since the beginning.
func MomentOf(c coleo.Change, after time.Duration) Moment {
	m := Moment{
		T: after.Seconds(), State: c.Reading.State, Rule: c.Reading.Rule, Dialog: c.Reading.Dialog,
		Detail: c.Reading.Detail, Known: c.Reading.Known, Note: c.Note,
	}
	if c.Kind != coleo.ChangeState {
		m.Event = string(c.Kind)
	}
	return m
}

// Suffixes of the files of a recorded session. One holds its terminal as an asciicast.
// The other holds a line with a Moment for each change, as it was read at the time.
const (
	castFile   = ".cast"
	changeFile = ".jsonl"
)

// recordedSession is one agent CLI of a trial, from its start to its end.
type recordedSession struct {
	holderDir string // its holder's folder
	changes   []coleo.Change
}

// startRecording starts collecting the data for a recording of the session, if the
// session has a screen.
func (t *Trial) startRecording(hold string) {
	if _, ok := t.Session.(coleo.Terminal); ok && t.config.Record != "" {
		t.recordedSessions = append(t.recordedSessions, &recordedSession{holderDir: hold})
	}
}

// recordingTail is how long a recording continues after the last check. A replay, whose
// times are right to 50 ms, must see readings that count only after they have held for a
// while.
const recordingTail = time.Second

// finishRecording continues a recording for recordingTail before the agent CLI is ended.
func (t *Trial) finishRecording() {
	if len(t.recordedSessions) > 0 {
		<-time.After(recordingTail)
		t.checks = append(t.checks, journal.CastMark{Time: time.Now(), Label: "end"})
	}
}

// closeSession closes the session, and keeps its changes for the recording.
func (t *Trial) closeSession() error {
	if n := len(t.recordedSessions); n > 0 {
		ctx, cancel := context.WithCancel(context.Background())
		cancel() // yields the past changes, without waiting for new ones
		for c := range t.Session.Changes(ctx, 0) {
			t.recordedSessions[n-1].changes = append(t.recordedSessions[n-1].changes, c)
		}
	}
	return t.Session.Close()
}

// writeRecordings writes the recordings of the trial's terminals.
func (t *Trial) writeRecordings() error {
	for i, taped := range t.recordedSessions {
		name := t.name
		if i > 0 {
			name += fmt.Sprintf("-%d", i+1)
		}
		if err := t.writeRecording(name, taped); err != nil {
			return fmt.Errorf("record %s: %w", name, err)
		}
	}
	return nil
}

func (t *Trial) writeRecording(name string, taped *recordedSession) error {
	if err := holder.Settle(taped.holderDir); err != nil {
		return err
	}
	hidden := t.config.hidden()
	var cast bytes.Buffer
	start, err := journal.WriteCast(&cast, holder.JournalDir(taped.holderDir),
		journal.CastEdit{Marks: t.checks, Typed: true, Hide: hidden})
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it never ran
	}
	if err != nil {
		return err
	}
	var changes bytes.Buffer
	out := json.NewEncoder(&changes)
	out.SetEscapeHTML(false)
	for _, c := range taped.changes {
		if err := out.Encode(MomentOf(c, max(0, c.Time.Sub(start)))); err != nil {
			return err
		}
	}
	lines := changes.String()
	for _, text := range hidden {
		lines = strings.ReplaceAll(lines, text, journal.Mask(text))
	}
	path := filepath.Join(t.config.Record, name)
	return errors.Join(os.WriteFile(path+castFile, cast.Bytes(), 0o600),
		os.WriteFile(path+changeFile, []byte(lines), 0o600))
}

// hidden returns the paths of this machine that a recording must not show, longest first.
// They are the folder of the trials, the agent CLI's folders, and the user's HOME.
func (c Config) hidden() []string {
	all := append([]string{c.Dir, c.Binary}, c.Path...)
	for _, v := range c.Environ {
		if home, ok := strings.CutPrefix(v, "HOME="); ok {
			all = append(all, home)
		}
	}
	for _, path := range all {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			all = append(all, real)
		}
	}
	all = slices.DeleteFunc(all, func(path string) bool { return len(path) < 2 || !filepath.IsAbs(path) })
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) })
	return slices.Compact(all)
}
