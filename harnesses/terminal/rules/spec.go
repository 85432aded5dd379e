package rules

import (
	"time"

	"coleo.dev"
)

// Spec is a harness.toml: what Coleo knows of one agent CLI with a screen.
type Spec struct {
	Base          string   `toml:"base"` // another harness, whose description this one changes
	Name          string   `toml:"name"`
	Title         string   `toml:"title"`
	Version       string   `toml:"version"`
	Checked       []string `toml:"checked"` // versions of the agent CLI that were checked
	Command       string   `toml:"command"`
	Install       string   `toml:"install"`
	Package       string   `toml:"package"` // "npm:NAME" or "pip:NAME"
	DaemonManaged bool     `toml:"daemon_managed"`
	Catalog       bool     `toml:"catalog"`   // its models are looked up in the catalogue
	Support       string   `toml:"support"`   // coleo.Support; default "full"
	Missing       []string `toml:"missing"`   // what full support would need, a sentence each
	NoModel       bool     `toml:"no_model"`  // it calls no model
	Transport     string   `toml:"transport"` // "http": only launch counts; default "pty"
	// NarrowEmoji says how the agent CLI draws a text character that U+FE0F makes an
	// emoji: as one cell and a blank. See pty.Core.NarrowEmoji.
	NarrowEmoji bool `toml:"narrow_emoji"`
	// WholeAfterResize says that the agent CLI takes each new size by painting the whole
	// screen in one synchronized update. See pty.Core.WholeFrames.
	WholeAfterResize bool `toml:"whole_after_resize"`

	Capabilities coleo.Capabilities `toml:"capabilities"`
	Launch       Launch             `toml:"launch"`
	Hook         Hook               `toml:"hook"`
	Keys         Keys               `toml:"keys"`
	Timing       Timing             `toml:"timing"`
	// CompactWhen must hold before the compact command is submitted. Agent CLIs complete
	// commands from a menu, and run the marked entry whatever was typed.
	CompactWhen []Cond `toml:"compact_when"`
	// InterruptWhen holds between the first and the last key of an interrupt. The last
	// key is pressed only while it holds, and the first key again until it does.
	InterruptWhen []Cond       `toml:"interrupt_when"`
	Composer      Composer     `toml:"composer"`
	Rules         []Rule       `toml:"rule"`
	Dialogs       []DialogRule `toml:"dialog"`
	Answer        AnswerRule   `toml:"answer"`
	Transcript    Transcript   `toml:"transcript"`
}

// Keys are sequences of key names (pty.Key), separated by blanks.
type Keys struct {
	Submit string `toml:"submit"`
	// Queue replaces Submit while the agent CLI works, where another key queues a prompt
	// and answers no dialog. A text that is folded to a note is refused then.
	Queue     string `toml:"queue"`
	Interrupt string `toml:"interrupt"`
	Quit      string `toml:"quit"`    // a sequence, or a command that is typed and submitted
	Compact   string `toml:"compact"` // a command that is typed and submitted once CompactWhen holds
	Clear     string `toml:"clear"`   // empties the composer
}

// Milliseconds is a time as a harness.toml has it.
type Milliseconds int

// Duration returns the time as a Duration.
func (m Milliseconds) Duration() time.Duration { return time.Duration(m) * time.Millisecond }

// Timing holds times in milliseconds.
type Timing struct {
	Settle      Milliseconds `toml:"settle_ms"`      // how long idle and error must hold
	Begin       Milliseconds `toml:"begin_ms"`       // how long after a submit idle counts only if work was seen
	PasteGap    Milliseconds `toml:"paste_gap_ms"`   // between text and submit
	KeyGap      Milliseconds `toml:"key_gap_ms"`     // between keys of a sequence
	DialogGap   Milliseconds `toml:"dialog_gap_ms"`  // age at which a dialog takes keys
	Start       Milliseconds `toml:"start_ms"`       // until the first known screen
	Unknown     Milliseconds `toml:"unknown_ms"`     // until an unknown screen is reported
	Interrupted Milliseconds `toml:"interrupted_ms"` // until an interrupt must show
}

// Rule maps a picture to a state. The first rule whose conditions all hold decides. A
// group called detail becomes the reading's detail.
type Rule struct {
	Name  string `toml:"name"`
	State string `toml:"state"`
	Late  bool   `toml:"late"` // does not count while the agent CLI is still starting
	When  []Cond `toml:"when"`
}

// defaultTiming returns the times of a harness.toml that sets none.
func defaultTiming() Timing {
	return Timing{Settle: 400, PasteGap: 100, KeyGap: 30, DialogGap: 400, Start: 60_000, Unknown: 10_000,
		Interrupted: 5_000}
}

// Info describes the harness of a Spec.
func (s *Spec) Info() coleo.Info {
	transport := coleo.TransportPTY
	if s.Transport != "" {
		transport = coleo.Transport(s.Transport)
	}
	return coleo.Info{
		Name: s.Name, Title: s.Title, Version: s.Version, Checked: s.Checked, Transport: transport, Catalog: s.Catalog,
		Support: coleo.Support(s.Support), Missing: s.Missing, NoModel: s.NoModel, DaemonManaged: s.DaemonManaged,
		Capabilities: s.Capabilities, Command: s.Command, Install: s.Install, Package: s.Package,
		Trust: s.Launch.Trust.File,
	}
}
