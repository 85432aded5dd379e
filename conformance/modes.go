package conformance

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"coleo.dev"
	"coleo.dev/waitfor"
)

// switchModes switches to each mode of the agent CLI and back to the first mode. After each switch,
// a prompt must reach the model. Then the check determines from the file system what the mode
// allows:
//   - If Mode.Permission is "ask", a file may be written only after a question.
//   - If Mode.Permission is "edit", a file must be written without a question.
//
// The check skips modes whose Permission is "all", and modes that Coleo cannot switch to.
func switchModes(ctx context.Context, t *Trial) error {
	if err := t.spawnIdle(ctx, nil); err != nil {
		return err
	}
	s, ok := t.Session.(coleo.ModeSwitcher)
	if !ok {
		return fmt.Errorf("the harness claims modes, and its session has none")
	}
	list := slices.DeleteFunc(s.Modes(), func(m coleo.Mode) bool {
		return !m.Switchable || m.Permission == coleo.PermissionAll
	})
	if len(list) < 2 {
		return fmt.Errorf("the harness claims modes, and describes %d that can be switched to", len(list))
	}
	first := t.Session.State().Mode
	home := slices.IndexFunc(list, func(m coleo.Mode) bool { return m.ID == first })
	if home < 0 {
		return fmt.Errorf("after the start the mode is %q, which is none of %q", first, coleo.ModeIDs(list))
	}
	var went []string
	for _, m := range append(list, list[home]) {
		if err := t.tryMode(ctx, s, m); err != nil {
			return fmt.Errorf("mode %s: %w", m.ID, err)
		}
		went = append(went, m.ID)
	}
	t.details = "it went to " + strings.Join(went, ", ")
	return nil
}

// tryMode switches to a mode, and checks that the session reports the mode and that a prompt reaches the model.
// If Mode.Permission is "ask" or "edit", it also checks whether the agent CLI asks before it writes a file.
func (t *Trial) tryMode(ctx context.Context, s coleo.ModeSwitcher, m coleo.Mode) error {
	from, was := t.Session.State(), waitfor.NewestCursor(t.Session)
	done, err := s.SwitchMode(ctx, m.ID)
	if err != nil {
		return err
	}
	now := t.Session.State()
	switch {
	case done.From != from.Mode || done.To != m.ID:
		return fmt.Errorf("the switch says from %q to %q, want from %q to %q", done.From, done.To, from.Mode, m.ID)
	case now.Mode != m.ID:
		return fmt.Errorf("after the switch the reading has the mode %q", now.Mode)
	case now.State != from.State:
		return fmt.Errorf("the switch changed the state from %s to %s", from.State, now.State)
	case from.Mode != m.ID && !t.reportedMode(was, m.ID):
		return fmt.Errorf("no change reports the mode")
	}
	if m.Confirm {
		// Some agent CLIs open a dialog at the first prompt in a mode that must be confirmed, so no prompt is sent.
		return nil
	}
	if err := t.reachesModel(ctx); err != nil {
		return err
	}
	caps := t.Harness.Info().Capabilities
	if caps.Approval && caps.FileEditing && (m.Permission == coleo.PermissionAsk || m.Permission == coleo.PermissionEdit) {
		return t.writesIn(ctx, m.Permission)
	}
	return nil
}

// reachesModel checks that a prompt reaches the model once. It looks only for a word of the prompt,
// because some agent CLIs add text around a prompt in some modes.
func (t *Trial) reachesModel(ctx context.Context) error {
	nonce := Nonce()
	receipt, err := t.Session.SendPrompt(ctx, coleo.Prompt{Text: "say " + nonce})
	if err != nil {
		return err
	}
	if _, err := waitfor.Turn(ctx, t.Session, receipt); err != nil {
		return err
	}
	n := 0
	for _, q := range t.requests() {
		if q.Side == "" && strings.Contains(q.Prompt, nonce) {
			n++
		}
	}
	if n != 1 {
		return fmt.Errorf("the model got the prompt %d times", n)
	}
	return nil
}

// reportedMode reports whether the session has reported the mode in a change after the cursor.
func (t *Trial) reportedMode(after coleo.Cursor, mode string) bool {
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // with an ended ctx, Changes yields only past changes and does not wait
	for c := range t.Session.Changes(ctx, after) {
		if c.Kind == coleo.ChangeMode && c.Reading.Mode == mode {
			return true
		}
	}
	return false
}

// writesIn makes the model write a file in the present mode. The caller passes Mode.Permission of
// this mode. If it is "ask", the agent CLI must ask first. Otherwise the agent CLI must write the
// file without a question.
func (t *Trial) writesIn(ctx context.Context, permission coleo.PermissionMode) error {
	if permission == coleo.PermissionAsk {
		q, err := t.askToWrite(ctx)
		if err != nil {
			return err
		}
		return t.deny(ctx, q)
	}
	name := Nonce() + ".txt"
	receipt, err := t.Session.SendPrompt(ctx, coleo.Prompt{Text: "write " + name + " with some words"})
	if err != nil {
		return err
	}
	reading, err := waitfor.Turn(ctx, t.Session, receipt)
	if err != nil {
		return err
	}
	if reading.State == coleo.WaitingApproval {
		return fmt.Errorf("the model wants to write a file, and a dialog asks: %s", reading.Dialog.Title)
	}
	if _, err := os.Stat(filepath.Join(t.Workdir, name)); err != nil {
		return fmt.Errorf("the model wants to write a file, and nothing is written: %w", err)
	}
	return nil
}
