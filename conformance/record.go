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

// Moment is the JSON form of a change that a session reported. It is made for programs.
type Moment struct {
	T      float64       `json:"t"` // seconds since the beginning of the recording or the session
	State  coleo.State   `json:"state"`
	Rule   string        `json:"rule"`
	Dialog *coleo.Dialog `json:"dialog"`
	Detail string        `json:"detail,omitempty"`
	Known  bool          `json:"known"`           // true if a rule recognizes the screen; if false, Coleo must not type
	Mode   string        `json:"mode,omitempty"`  // the agent CLI's mode
	Event  string        `json:"event,omitempty"` // the kind of change; "" for a change of the reading
	Note   string        `json:"note,omitempty"`
}

// MomentOf returns a change as a Moment. `after` is the time between the beginning of the recording
// or session and the change.
func MomentOf(c coleo.Change, after time.Duration) Moment {
	m := Moment{
		T: after.Seconds(), State: c.Reading.State, Rule: c.Reading.Rule, Dialog: c.Reading.Dialog,
		Detail: c.Reading.Detail, Known: c.Reading.Known, Note: c.Note, Mode: c.Reading.Mode,
	}
	if c.Kind != coleo.ChangeState {
		m.Event = string(c.Kind)
	}
	return m
}

// These are the suffixes of the two files of a recorded session. The .cast file contains the
// session's terminal as an asciicast. The .jsonl file contains a Moment in JSON for each change
// that the session reported.
const (
	castFile   = ".cast"
	changeFile = ".jsonl"
)

// recordedSession holds the data for the recording of one agent CLI of a trial.
type recordedSession struct {
	holderDir string // the folder of the session's holder
	changes   []coleo.Change
	start     time.Time // beginning of the asciicast; zero until the asciicast is written
}

// startRecording remembers the folder of the session's holder, from which the recording is made
// later. It does nothing if the session has no screen, or if no recordings are wanted.
func (t *Trial) startRecording(hold string) {
	if _, ok := t.Session.(coleo.Terminal); ok && t.config.Record != "" {
		t.recordedSessions = append(t.recordedSessions, &recordedSession{holderDir: hold})
	}
}

// recordingTail is how long a recording continues after the last check. Coleo reports some readings
// only after they have lasted for some time. A replay must report them too, although its times are
// exact only to 50 ms.
const recordingTail = time.Second

// finishRecording waits for recordingTail. The caller must not end the agent CLI before
// finishRecording returns.
func (t *Trial) finishRecording() {
	if len(t.recordedSessions) > 0 {
		<-time.After(recordingTail)
		t.checks = append(t.checks, journal.CastMark{Time: time.Now(), Label: "end"})
	}
}

// closeSession saves the session's changes for the recording, and closes the session.
func (t *Trial) closeSession() error {
	if n := len(t.recordedSessions); n > 0 {
		ctx, cancel := context.WithCancel(context.Background())
		cancel() // with an ended ctx, Changes yields only past changes and does not wait
		for c := range t.Session.Changes(ctx, 0) {
			t.recordedSessions[n-1].changes = append(t.recordedSessions[n-1].changes, c)
		}
	}
	return t.Session.Close()
}

// writeRecordings writes the recordings of all sessions of the trial.
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
	if err := holder.AwaitGuard(taped.holderDir); err != nil {
		return err
	}
	hidden := t.config.hiddenPaths()
	var cast bytes.Buffer
	start, err := journal.WriteCast(&cast, holder.JournalDir(taped.holderDir),
		journal.CastEdit{Marks: t.checks, Typed: true, Hide: hidden})
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the agent CLI was never started
	}
	if err != nil {
		return err
	}
	taped.start = start
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
		lines = string(journal.MaskPath([]byte(lines), text))
	}
	path := filepath.Join(t.config.Record, name)
	return errors.Join(os.WriteFile(path+castFile, cast.Bytes(), 0o600),
		os.WriteFile(path+changeFile, []byte(lines), 0o600))
}

// hiddenPaths returns the paths that a recording must not show: the folder of the trials,
// the path of the agent CLI, the folders that are searched for it, and the user's HOME.
// If a path contains a symbolic link, its real path is also returned. The longest path
// is first.
func (c Config) hiddenPaths() []string {
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
