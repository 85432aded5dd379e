package rules

import (
	"regexp"
	"time"

	"coleo.dev"
)

// Each of these types is a kind of text in a harness.toml. The reference of the keys shows their
// names (docs/harness-reference.md).
type (
	patternText  = string // a regular expression of Go's package regexp
	keysText     = string // names of keys for KeySequence
	templateText = string // a template for Render
)

// Spec is a harness.toml, the description of one agent CLI.
//
// docs/harness-reference.md is generated from the field comments of this type and of every type
// that its fields use. So these comments are for the author of a harness.toml.
type Spec struct {
	// The name of a built-in harness that this file changes, called the base. The file's keys replace those
	// of the base. The file's rules, dialogs, limits, modes and `[[asks]]` come before those of the base,
	// and replace those with the same name or id. Any other list of the file replaces the whole list of the
	// base.
	Base string `toml:"base"`
	// The name of the harness in `coleo arm spawn --harness`. It consists of small letters, digits,
	// dots, dashes and underscores. The key is required.
	Name string `toml:"name"`
	// The name of the agent CLI that Coleo shows to people, such as `Claude Code`.
	Title string `toml:"title"`
	// The version of this description, not of the agent CLI.
	Version string `toml:"version"`
	// The versions of the agent CLI on which somebody checked this description, such as
	// `["1.2.3"]`.
	Checked []string `toml:"checked"`
	// The program to start. Coleo searches for it in `PATH`. The key is required.
	Command string `toml:"command"`
	// The command that installs the agent CLI. Coleo shows it if the program is missing.
	Install string `toml:"install"`
	// The package of the agent CLI, for `coleo harness install`: `npm:NAME` or `pip:NAME`.
	Package string `toml:"package"`
	// This key is `true` if arms of this harness need a host agent. The user can allow a start
	// without a host agent.
	DaemonManaged bool `toml:"daemon_managed"`
	// This key is `true` if the models come from OpenCode's catalog. Coleo then replaces a model
	// that is not in the catalog.
	Catalog bool `toml:"catalog"`
	// How complete the harness is. With `full`, the harness claims everything that the
	// agent CLI can do, and all of it is tested. With `partial`, `missing` lists what
	// the harness does not claim. `declared` is for a harness that never ran under
	// Coleo.
	Support string `toml:"support"`
	// What the harness lacks for full support. Each item is one sentence. The list is
	// required with less than full support, and must be empty with full support.
	Missing []string `toml:"missing"`
	// This key is `true` if the program uses no model, such as a shell. The checks that need a
	// model then skip the program.
	NoModel bool `toml:"no_model"`
	// How Coleo talks to the agent CLI: `pty` through its terminal, `http` through its API. `http`
	// is only for a harness that has its own Go code. With `http`, only the top level,
	// `[capabilities]`, `[work]` and `[launch]` have an effect.
	Transport string `toml:"transport"`
	// This key is `true` if the agent CLI draws an emoji such as ❤️ as one cell and a blank. Such
	// an emoji is a character followed by U+FE0F.
	NarrowEmoji bool `toml:"narrow_emoji"`
	// This key is `true` if the agent CLI paints its whole screen in one synchronized update
	// whenever the terminal has a new size. Coleo then waits for that update before it sends the
	// next size.
	WholeAfterResize bool `toml:"whole_after_resize"`
	// How Coleo makes the agent CLI draw its whole picture again: `signal`, `rows` or `columns`.
	// With `signal`, Coleo sends SIGWINCH to the agent CLI. With `rows` or `columns`, Coleo makes
	// the terminal one row or one column smaller, and then restores the size. Coleo does so once if
	// no rule knows a picture, or if a picture shows work and does not change. It types no key for
	// this. Without this key, Coleo never makes the agent CLI draw its picture again.
	Redraw string `toml:"redraw"`

	// A regular expression for work in the background. Some agent CLIs report "working" in an escape
	// sequence even if only such work continues. Coleo matches the expression with the text that the agent
	// CLI adds to the word "working". If it matches, the turn has ended and the arm is idle. Coleo shows
	// the text.
	Background patternText `toml:"background"`

	// How the agent CLI names a file in a prompt, such as `@{path}`. Coleo puts the files of a
	// prompt before the text of the prompt in this form. Without this key, or if a path has a blank
	// or another special character, Coleo lists the paths after the text.
	Attach string `toml:"attach"`

	// What the agent CLI can do, as this harness claims. `coleo harness test` tests each claimed
	// capability, and skips the others.
	Capabilities coleo.Capabilities `toml:"capabilities"`
	// The kinds of work of the agent CLI that Coleo reports as events of a run, such as tool calls.
	// `coleo harness test` compares these events with the model server's record. Omit the table if Coleo
	// reads no record of the agent CLI.
	Work coleo.ReportedWork `toml:"work"`
	// How Coleo starts the agent CLI.
	Launch Launch `toml:"launch"`
	// A setting that users of the agent CLI may have chosen, and that changes its picture or its
	// keys. `coleo harness test NAME --settings all` tests each setting. The table also defines
	// which settings Coleo refuses at the start of an arm. At most 60 are allowed.
	Settings []Setting `toml:"setting"`
	// An action that the agent CLI asks its user about: a tool of the model, or a way to start.
	// `coleo harness test NAME --asks all` gives each possible answer to each dialog, and checks
	// what the agent CLI does after the answer. At most 60 are allowed.
	Asks []coleo.Ask `toml:"asks"`
	// The tools that the model can use without a question to the user, even in the permission mode `ask`.
	// The keys are the names of the tools. The values are the arguments with which the checks call the
	// tools. The checks do not call a tool with an empty value. `coleo harness test NAME --asks all` fails
	// for a tool that is neither here nor in `[[asks]]`.
	QuietTools map[string]string `toml:"quiet_tools"`
	// The reports of the agent CLI to a hook. A hook is a program that the agent CLI starts at
	// certain moments. Omit the table for an agent CLI that starts no such program.
	Hook Hook `toml:"hook"`
	// How a policy judges the tool calls that the agent CLI asks about. The policy needs a hook that
	// reports tools with their inputs and folders. Omit the table if the hook does not report these.
	Policy PolicyRule `toml:"policy"`
	// The keys that Coleo presses. A key is `ENTER`, `TAB`, `SHIFT_TAB`, `SHIFT_ENTER`,
	// `SPACE`, `ESCAPE`, `BACKSPACE`, `UP`, `DOWN`, `LEFT`, `RIGHT`, `CTRL_C`, `CTRL_D`,
	// `CTRL_K`, `CTRL_L`, `CTRL_U`, `CTRL_Y`, `CTRL_Z` or one character. A blank separates two
	// writes, and `+` joins keys into one write: `ESCAPE ESCAPE`, `y+ENTER`.
	Keys Keys `toml:"keys"`
	// The times that Coleo waits. Omit these keys unless a check needs another value. The longest
	// time is 600000 ms.
	Timing Timing `toml:"timing"`
	// The conditions under which Coleo submits the command of `keys.compact`. They are needed
	// because an agent CLI completes commands from a menu, and runs the marked entry of the menu,
	// whatever was typed. This key is required if `[capabilities]` claims `compact`.
	CompactWhen []Cond `toml:"compact_when"`
	// The conditions that hold after the agent CLI has finished its start, and not earlier. They are needed
	// because some agent CLIs draw their composer before they ask whether the folder is trusted. After a
	// start, Coleo accepts an idle screen once these conditions have held. If they do not hold within 30 s,
	// Coleo accepts an idle screen without them, and calls the idle state unproven. A rule with the state
	// `initializing` means that the agent CLI will start again. From then on, Coleo ignores these
	// conditions, and accepts an idle screen after 30 s, or when the agent CLI has turned bracketed paste
	// off. The recorded screen may not contain the sign of a finished start. So Coleo reads the first start
	// in a recording as if these conditions had held.
	Ready []Cond `toml:"ready"`
	// The conditions that hold after the agent CLI has opened the copy of a conversation, and not
	// earlier. They are needed because some agent CLIs draw an empty composer before they open the
	// copy. After a start with a copy, these conditions replace `ready`.
	ForkReady []Cond `toml:"fork_ready"`
	// The conditions for the screen between the first and the last key of `keys.interrupt`. Coleo presses
	// the first key, and repeats it until the conditions hold. It presses the last key only while they
	// hold. Without conditions, Coleo presses the keys one after another.
	InterruptWhen []Cond `toml:"interrupt_when"`
	// A mode of the agent CLI, such as planning: how the screen shows it, and how Coleo
	// switches to it. At most 30 are allowed.
	Modes []Mode `toml:"mode"`
	// How Coleo changes the model of a running agent CLI.
	Model ModelRule `toml:"model"`
	// The errors with which the agent CLI reports a limit of its model, such as a quota. Coleo
	// tries the limits in the order of the file. The first limit whose pattern is found decides. At
	// most 30 are allowed. A file's limits come before those of its base.
	Limits []LimitRule `toml:"limit"`
	// The part of the screen that shows the whole error of a turn, such as `above composer 10`. Coleo
	// searches this part for a limit while the state is `error`. Omit the key if Coleo finds the errors in
	// the agent CLI's record.
	LimitWhere string `toml:"limit_where"`
	// The regular expression of the first row of an error. Coleo looks for the last such row in
	// `limit_where`, and ignores the rows above it, because they can belong to an earlier turn.
	LimitBegin string `toml:"limit_begin"`
	// This key is `true` if the agent CLI keeps nothing of a turn that ends with an error before
	// the model has replied. If a limit of the model ends such a turn, Coleo later repeats the
	// prompt of that turn.
	LimitForgets bool `toml:"limit_forgets"`
	// The area of the screen where the agent CLI accepts text: the rows between an upper and a
	// lower edge.
	Composer Composer `toml:"composer"`
	// A kind of screen, and the state of the agent CLI that such a screen means. Coleo
	// tries the rules after the dialogs, in the order of the file. The first rule whose
	// conditions all hold decides. At most 100 rules are allowed.
	Rules []Rule `toml:"rule"`
	// How to recognize one kind of dialog, and how to answer it. Coleo tries the dialogs before the
	// rules. The first dialog whose conditions all hold decides. At most 100 dialogs are allowed.
	// The kind, the title, the subject and the options are the dialog's identity. Coleo makes the
	// dialog's fingerprint from these four. If one of them changes, the dialog counts as another
	// dialog. The marked option is the dialog's state: if the mark moves, the dialog is still the
	// same. So the patterns of the title, the subject and the labels must not match a mark, a tick
	// or typed text.
	Dialogs []DialogRule `toml:"dialog"`
	// How Coleo finds the last answer on the screen. Coleo uses this table if the agent CLI keeps
	// no transcript that Coleo can read.
	Answer AnswerRule `toml:"answer"`
	// The file of JSON lines in which the agent CLI keeps a conversation. Answers in this file are
	// complete. To name a nested key, join all keys on the path to it with dots:
	// `message.content.text`. If a value on the path is a list, Coleo searches each of its
	// elements.
	Transcript Transcript `toml:"transcript"`

	background     *regexp.Regexp
	limitWhere     region
	limitBegin     *regexp.Regexp
	noConversation *regexp.Regexp
	pack           *Pack // newer rules that only read the screen; nil if there are none
}

// HasNoConversation reports whether a screen shows that the conversation to continue does not
// exist.
func (s *Spec) HasNoConversation(screen string) bool {
	return s.noConversation != nil && s.noConversation.MatchString(screen)
}

// OnlyBackground reports whether the turn has ended and only work in the background continues. The
// parameter `detail` is the text that the agent CLI adds to the word "working" in its escape sequence.
func (s *Spec) OnlyBackground(detail string) bool {
	return s.background != nil && s.background.MatchString(detail)
}

// Keys are sequences of key names (pty.Key). Blanks separate the names.
type Keys struct {
	// The keys that submit the composer's text, such as `ENTER`. The key is required.
	Submit keysText `toml:"submit"`
	// The keys that queue a prompt while the agent CLI works. In a dialog, these keys must not give an
	// answer. While the agent CLI works, Coleo presses these keys instead of `submit`. Meanwhile Coleo
	// refuses a long text if the composer would show only a note in place of the text.
	Queue keysText `toml:"queue"`
	// The keys that stop a running turn, such as `ESCAPE`.
	Interrupt keysText `toml:"interrupt"`
	// The command or the keys that end the agent CLI, such as `/exit`. Coleo does not use this key yet. To
	// end an arm, Coleo ends the processes of the agent CLI.
	Quit string `toml:"quit"`
	// The command that shortens the conversation, such as `/compact`. Coleo types the
	// command, and submits it once `compact_when` holds.
	Compact string `toml:"compact"`
	// The key that switches to the next mode, such as `SHIFT_TAB`. Coleo presses the key once, and
	// checks which mode the screen shows. If it is not the wanted mode, Coleo presses the key
	// again. In an empty composer, the key must change nothing else.
	Mode keysText `toml:"mode"`
	// The keys that empty the composer, such as `CTRL_U`. Coleo presses the keys again while each
	// press changes something. So one press should remove a whole row, wherever in the row the
	// cursor is.
	Clear keysText `toml:"clear"`
	// The keys that leave the mode of `composer.trap`, such as `ESCAPE`. Coleo presses these keys
	// before each prompt that it types, if the agent CLI is idle and its composer is empty. The
	// keys must change nothing else. Without this key, Coleo types nothing in such a mode.
	Leave keysText `toml:"leave"`
}

// Milliseconds is a time in a harness.toml, in milliseconds.
type Milliseconds int

// Duration returns the time as a Duration.
func (m Milliseconds) Duration() time.Duration { return time.Duration(m) * time.Millisecond }

// Timing contains the times that Coleo waits.
type Timing struct {
	// How long the screen must show the state `idle` or `error` before Coleo reports that state.
	// The value must be longer than any moment during a turn at which the screen shows `idle`.
	Settle Milliseconds `toml:"settle_ms"`
	// The time after a submit during which Coleo accepts `idle` only if it has seen work.
	Begin Milliseconds `toml:"begin_ms"`
	// The pause between a typed text and `keys.submit`.
	PasteGap Milliseconds `toml:"paste_gap_ms"`
	// The pause between the keys of a sequence.
	KeyGap Milliseconds `toml:"key_gap_ms"`
	// How old a dialog must be before Coleo presses keys in the dialog. It is also the pause
	// between the last move of the mark and `ENTER`.
	DialogGap Milliseconds `toml:"dialog_gap_ms"`
	// How long the agent CLI may take from its start to the first screen that a rule recognizes.
	// Afterwards Coleo reports that no rule knows the screen.
	Start Milliseconds `toml:"start_ms"`
	// How long a screen after the start may stay unknown to all rules before Coleo reports it.
	Unknown Milliseconds `toml:"unknown_ms"`
	// How long the agent CLI may take to stop after an interrupt.
	Interrupted Milliseconds `toml:"interrupted_ms"`
	// The shortest time between two interrupts of an agent CLI that would end after two interrupts in quick succession.
	InterruptGap Milliseconds `toml:"interrupt_gap_ms"`
}

// Rule is a kind of picture, and the state that it means. If the picture shows no dialog, the first
// rule whose conditions all hold decides. The text of a pattern's group "detail" becomes the
// reading's detail.
type Rule struct {
	// The name of the rule. `coleo harness explain` shows it. The key is required.
	Name string `toml:"name"`
	// The state that this screen means, such as `processing`, `executing`, `idle` or `error`.
	// `initializing` and `waiting_approval` are rare. `dead` is for the screen that an agent CLI
	// shows when it ends. While the process still runs, Coleo treats such a screen as unknown. The
	// key is required.
	State string `toml:"state"`
	// This key is `true` if Coleo ignores the rule while the agent CLI is still starting.
	Late bool `toml:"late"`
	// The conditions, 1 to 16. All conditions must hold. If a pattern has a group named
	// `detail`, Coleo shows the group's text with the state: `attempt (?P<detail>\d+)`.
	When []Cond `toml:"when"`
}

// defaultTiming returns the times for a harness.toml that sets none.
func defaultTiming() Timing {
	return Timing{Settle: 400, PasteGap: 100, KeyGap: 30, DialogGap: 400, Start: 60_000, Unknown: 10_000,
		Interrupted: 5_000}
}

// Info describes the harness of a Spec.
func (s *Spec) Info() coleo.Info {
	var pack *coleo.PackInfo
	if s.pack != nil {
		pack = &coleo.PackInfo{Serial: s.pack.Serial, Versions: s.pack.Versions}
	}
	return coleo.Info{
		Pack: pack, Name: s.Name, Title: s.Title, Version: s.Version, Checked: s.Checked,
		Transport: coleo.Transport(s.Transport), Catalog: s.Catalog, ModelPattern: s.Model.Pattern,
		ModelNames: s.Model.Names, ModelProvider: s.Model.Provider,
		Support: coleo.Support(s.Support), Missing: s.Missing, NoModel: s.NoModel, DaemonManaged: s.DaemonManaged,
		Capabilities: s.Capabilities, Work: s.Work, Command: s.Command, Install: s.Install, Package: s.Package,
		OwnFiles:     s.Launch.OwnFiles,
		TakesSandbox: len(s.Launch.Sandbox.Writable) > 0, JudgedSandboxes: s.Launch.Sandbox.Judged,
		Trust: s.Launch.Trust.File, Attach: s.Attach, Forks: s.Launch.Fork,
	}
}

// The values of Spec.Redraw.
const (
	RedrawSignal  = "signal"
	RedrawRows    = "rows"
	RedrawColumns = "columns"
)

var redraws = []string{RedrawSignal, RedrawRows, RedrawColumns}
