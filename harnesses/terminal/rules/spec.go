package rules

import (
	"time"

	"coleo.dev"
)

// These types say what a text in a harness.toml holds. The reference of the keys names
// them (docs/harness-reference.md).
type (
	patternText  = string // a regular expression, as the package regexp takes it
	keysText     = string // names of keys, as KeySequence takes them
	templateText = string // a template, as Render takes it
)

// Spec is a harness.toml: what Coleo knows of one agent CLI with a screen. The comments of
// its fields, and of the fields of all types that it reaches, are the reference of the
// keys. So they speak to a person who writes a harness.toml.
type Spec struct {
	// The name of a built-in harness that this one changes. Keys of this file replace those
	// of the base. Rules and dialogs come before those of the base, and replace those with
	// the same name. Other lists are replaced as a whole.
	Base string `toml:"base"`
	// The name of the harness, as `coleo arm spawn --harness` takes it. It has small
	// letters, digits, dots, dashes and underscores. The key is required.
	Name string `toml:"name"`
	// The name of the agent CLI for people, such as `Claude Code`. Errors show it.
	Title string `toml:"title"`
	// The version of this description, not of the agent CLI.
	Version string `toml:"version"`
	// The versions of the agent CLI that this description was checked with, such as
	// `["1.2.3"]`.
	Checked []string `toml:"checked"`
	// The program to start. Coleo looks for it in `PATH`. The key is required.
	Command string `toml:"command"`
	// The command that installs the agent CLI. Coleo shows it if the program is missing.
	Install string `toml:"install"`
	// The package of the agent CLI, for `coleo harness install`: `npm:NAME` or `pip:NAME`.
	Package string `toml:"package"`
	// Whether arms of this harness need a host agent, unless the user allows a local start.
	DaemonManaged bool `toml:"daemon_managed"`
	// Whether the models are those of OpenCode's catalogue. Coleo then replaces a model that
	// the catalogue does not have.
	Catalog bool `toml:"catalog"`
	// How complete the harness is. With `full`, all that the agent CLI can do is claimed
	// and tested. With `partial`, `missing` lists the rest. `declared` is for a harness
	// that never ran under Coleo.
	Support string `toml:"support"`
	// What full support would need, in one sentence each. It is required with less than
	// full support, and must be empty with full support.
	Missing []string `toml:"missing"`
	// Whether the program asks no model, such as a shell. Checks that need a model are then
	// skipped.
	NoModel bool `toml:"no_model"`
	// How Coleo talks to the agent CLI: `pty` for its terminal, `http` for its API. `http` is
	// for a harness with code of its own. Only the top level, `[capabilities]` and `[launch]`
	// count then.
	Transport string `toml:"transport"`
	// Whether the agent CLI draws a character that U+FE0F makes an emoji (❤️) as one cell
	// and a blank.
	NarrowEmoji bool `toml:"narrow_emoji"`
	// Whether the agent CLI paints its whole screen in one synchronized update whenever it
	// takes a new size. Coleo then gives it the next size only after that update.
	WholeAfterResize bool `toml:"whole_after_resize"`

	// What the agent CLI can do through this harness. A capability that is claimed is
	// tested by `coleo harness test`, and one that is not claimed is skipped.
	Capabilities coleo.Capabilities `toml:"capabilities"`
	// How the agent CLI is started.
	Launch Launch `toml:"launch"`
	// What the agent CLI reports to a program that it starts at certain moments. Leave the
	// table out for an agent CLI that starts no such program.
	Hook Hook `toml:"hook"`
	// The keys that Coleo presses. A key is `ENTER`, `TAB`, `SHIFT_TAB`, `SHIFT_ENTER`,
	// `SPACE`, `ESCAPE`, `BACKSPACE`, `UP`, `DOWN`, `LEFT`, `RIGHT`, `CTRL_C`, `CTRL_D`,
	// `CTRL_K`, `CTRL_L`, `CTRL_U`, `CTRL_Z` or one character. A blank separates two
	// writes, and `+` joins keys into one write: `ESCAPE ESCAPE`, `y+ENTER`.
	Keys Keys `toml:"keys"`
	// How long Coleo waits. Leave these keys out until a check needs another value. The
	// longest time is 600000 ms.
	Timing Timing `toml:"timing"`
	// What the screen shows when the command of `keys.compact` may be submitted. Agent CLIs
	// complete commands from a menu, and run the marked entry whatever was typed. It is
	// required if `compact` is claimed in `[capabilities]`.
	CompactWhen []Cond `toml:"compact_when"`
	// What the screen shows between the first and the last key of `keys.interrupt`. Coleo
	// presses the last key only while these conditions hold, and the first key again until
	// they do. Without them the keys are pressed one after the other.
	InterruptWhen []Cond `toml:"interrupt_when"`
	// Where the agent CLI takes text: the rows between an upper and a lower edge.
	Composer Composer `toml:"composer"`
	// What one kind of screen means. Rules come after dialogs, in their order. The first
	// rule whose conditions all hold decides. At most 100 rules are allowed.
	Rules []Rule `toml:"rule"`
	// What one kind of dialog looks like, and how it is answered. The first dialog whose
	// conditions all hold decides, before any rule. At most 100 dialogs are allowed. The
	// kind, the title, the subject and the options are the dialog's identity. Its
	// fingerprint is made of them, so other text there makes another dialog. Which option is
	// marked is its state: it may change while the dialog stays the same. So let no pattern
	// take a mark, a tick or typed text into the title, the subject or a label.
	Dialogs []DialogRule `toml:"dialog"`
	// How the last answer is read from the screen. It is used if the agent CLI keeps no
	// transcript that Coleo can read.
	Answer AnswerRule `toml:"answer"`
	// The file of JSON lines in which the agent CLI keeps a conversation. Answers in it are
	// complete. A key inside an entry is given by the keys on the way to it, joined with
	// dots: `message.content.text`. Lists on the way are searched element by element.
	Transcript Transcript `toml:"transcript"`
}

// Keys are sequences of key names (pty.Key), separated by blanks.
type Keys struct {
	// The keys that submit the composer's text, such as `ENTER`. The key is required.
	Submit keysText `toml:"submit"`
	// The keys that queue a prompt while the agent CLI works, and answer no dialog. Coleo
	// then presses them instead of `submit`. A text that the composer shows as a note is
	// refused during work.
	Queue keysText `toml:"queue"`
	// The keys that stop a running turn, such as `ESCAPE`.
	Interrupt keysText `toml:"interrupt"`
	// The command or the keys that end the agent CLI, such as `/exit`. No part of Coleo uses
	// this key yet: an arm is ended through its processes.
	Quit string `toml:"quit"`
	// The command that shortens the conversation, such as `/compact`. Coleo types it, and
	// submits it once `compact_when` holds.
	Compact string `toml:"compact"`
	// The keys that empty the composer, such as `CTRL_U`. Coleo presses them as long as they
	// change something. So they should remove a row wherever its cursor is.
	Clear keysText `toml:"clear"`
}

// Milliseconds is a time as a harness.toml has it.
type Milliseconds int

// Duration returns the time as a Duration.
func (m Milliseconds) Duration() time.Duration { return time.Duration(m) * time.Millisecond }

// Timing holds times in milliseconds.
type Timing struct {
	// How long `idle` or `error` must hold before Coleo reports it. It must be longer than
	// the longest gap within a turn in which the screen reads idle.
	Settle Milliseconds `toml:"settle_ms"`
	// How long after a submit `idle` counts only if work was seen.
	Begin Milliseconds `toml:"begin_ms"`
	// The pause between a typed text and `keys.submit`.
	PasteGap Milliseconds `toml:"paste_gap_ms"`
	// The pause between the keys of a sequence.
	KeyGap Milliseconds `toml:"key_gap_ms"`
	// The age at which a dialog takes keys. It is also the pause between a moved mark and
	// `ENTER`.
	DialogGap Milliseconds `toml:"dialog_gap_ms"`
	// How long the start may take until the first screen that a rule knows. After that
	// Coleo reports the unknown screen.
	Start Milliseconds `toml:"start_ms"`
	// How long a later screen may stay unknown before Coleo reports it.
	Unknown Milliseconds `toml:"unknown_ms"`
	// How long the agent CLI may take to stop after an interrupt.
	Interrupted Milliseconds `toml:"interrupted_ms"`
}

// Rule maps a picture to a state. The first rule whose conditions all hold decides. A
// group called detail becomes the reading's detail.
type Rule struct {
	// The name of the rule. `coleo harness explain` shows it. The key is required.
	Name string `toml:"name"`
	// The state that this screen means, such as `processing`, `executing`, `idle` or
	// `error`. Seldom it is `initializing` or `waiting_approval`. `dead` is for the last
	// screen of an agent CLI: it counts as unknown until the process has ended. The key is
	// required.
	State string `toml:"state"`
	// Whether the rule says nothing about an agent CLI that is still starting.
	Late bool `toml:"late"`
	// The conditions, 1 to 16, which must all hold. A group named `detail` in a pattern,
	// such as `attempt (?P<detail>\d+)`, is shown with the state.
	When []Cond `toml:"when"`
}

// defaultTiming returns the times of a harness.toml that sets none.
func defaultTiming() Timing {
	return Timing{Settle: 400, PasteGap: 100, KeyGap: 30, DialogGap: 400, Start: 60_000, Unknown: 10_000,
		Interrupted: 5_000}
}

// Info describes the harness of a Spec.
func (s *Spec) Info() coleo.Info {
	return coleo.Info{
		Name: s.Name, Title: s.Title, Version: s.Version, Checked: s.Checked, Transport: coleo.Transport(s.Transport),
		Catalog: s.Catalog,
		Support: coleo.Support(s.Support), Missing: s.Missing, NoModel: s.NoModel, DaemonManaged: s.DaemonManaged,
		Capabilities: s.Capabilities, Command: s.Command, Install: s.Install, Package: s.Package,
		Trust: s.Launch.Trust.File,
	}
}
