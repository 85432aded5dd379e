package rules

import (
	"regexp"
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

// DialogRule says how to recognise a dialog, where its parts are, and which keys answer it.
// Most fields are patterns. Their comments say what a pattern matches.
type DialogRule struct {
	Name  string `toml:"name"`
	Kind  string `toml:"kind"`
	When  []Cond `toml:"when"`
	Strip string `toml:"strip"` // cut off each row first
	// Title matches the row with the question. The search goes from the bottom up. The
	// title is the first group, or the whole match without a group. On a narrow terminal
	// it may continue on the next rows.
	Title string `toml:"title"`
	// Block replaces Title: the title is the whole paragraph above the numbered options,
	// whatever it says.
	Block   bool   `toml:"block"`
	Top     string `toml:"top"`     // the row above the dialog
	Subject string `toml:"subject"` // "above" or "below" the title
	// Cut holds when the subject continues beyond the rows on the screen. Without Cut, a
	// row that ends with … means that.
	Cut []Cond `toml:"cut"`
	// Draft holds while the subject is not drawn yet. The dialog's text is then published
	// when it is complete, or after 3 s as cut off.
	Draft   []Cond   `toml:"draft"`
	Gutter  string   `toml:"gutter"`  // what stands before the text in the subject's rows: a bar, line numbers
	Changed string   `toml:"changed"` // a changed row, if the subject is a diff; its last group is the sign
	Option  string   `toml:"option"`  // an option's row; groups mark, number, label
	Heading bool     `toml:"heading"` // where no Title is found, the title is the first row below Top
	Options []string `toml:"options"` // the options, when they are always the same
	// Choice matches each option, when the options are after the title. Its groups
	// together are the label.
	Choice   string `toml:"choice"`
	Chosen   string `toml:"chosen"`    // the text after those options: its group is the label of the marked one
	End      string `toml:"end"`       // the row after options or subject
	Default  int    `toml:"default"`   // 0-based, when Option has no mark
	Mark     string `toml:"mark"`      // "background" when only the background shows which of Options is marked
	Select   string `toml:"select"`    // "digit", "arrows", "row" (arrows to the left and right) or "keys"
	Approve  string `toml:"approve"`   // pattern of the option, or keys with Select = "keys"
	Always   string `toml:"always"`    // the same for approve_always
	Deny     string `toml:"deny"`      // the same for deny
	DenyKeys string `toml:"deny_keys"` // keys that deny whatever the options are

	strip, title, top, option, end *regexp.Regexp
	choice, chosen                 *regexp.Regexp
	gutter, changed                *regexp.Regexp
	approve, always, deny          *regexp.Regexp
}

// AnswerRule takes the last answer from the screen, where the agent CLI keeps no
// transcript that Coleo reads.
type AnswerRule struct {
	Begin string `toml:"begin"` // an answer's first row; the text is in the first group
	End   string `toml:"end"`   // the first row after an answer; it may begin another
	Strip string `toml:"strip"` // removed from each row of an answer
	Whole bool   `toml:"whole"` // the answer is all that was printed since the prompt

	begin, end, strip *regexp.Regexp
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
