package terminal

import (
	"regexp"
	"time"
)

// Spec is a harness.toml: what Coleo knows of one agent CLI with a screen.
type Spec struct {
	Base          string   `toml:"base"` // another harness, whose description this one changes
	Name          string   `toml:"name"`
	Title         string   `toml:"title"`
	Version       string   `toml:"version"`
	Checked       []string `toml:"checked"` // versions of the agent CLI
	Command       string   `toml:"command"`
	Install       string   `toml:"install"`
	Package       string   `toml:"package"` // "npm:NAME" or "pip:NAME"
	DaemonManaged bool     `toml:"daemon_managed"`
	Catalog       bool     `toml:"catalog"`   // its models are looked up in the catalogue
	Support       string   `toml:"support"`   // coleo.Support; default "full"
	Missing       []string `toml:"missing"`   // what is not full about it, a sentence each
	NoModel       bool     `toml:"no_model"`  // it asks no model
	Transport     string   `toml:"transport"` // "http": only launch counts; default "pty"
	// NarrowEmoji says that it draws a text character that U+FE0F makes an emoji
	// as one cell and a blank, see pty.Core.NarrowEmoji.
	NarrowEmoji bool `toml:"narrow_emoji"`

	Capabilities Capabilities `toml:"capabilities"`
	Launch       Launch       `toml:"launch"`
	Hook         Hook         `toml:"hook"`
	Keys         Keys         `toml:"keys"`
	Timing       Timing       `toml:"timing"`
	// CompactWhen must hold before the compact command is submitted: agent CLIs
	// complete commands from a menu, and the entry that is marked is the one that
	// is carried out, whatever was typed.
	CompactWhen []Cond `toml:"compact_when"`
	// InterruptWhen holds between the first and the last key of an interrupt: the
	// last is pressed only then, and the first again while it does not hold.
	InterruptWhen []Cond       `toml:"interrupt_when"`
	Composer      Composer     `toml:"composer"`
	Rules         []Rule       `toml:"rule"`
	Dialogs       []DialogRule `toml:"dialog"`
	Answer        AnswerRule   `toml:"answer"`
	Transcript    Transcript   `toml:"transcript"`
}

// Capabilities are coleo.Capabilities as they are written in a harness.toml.
type Capabilities struct {
	MCP              bool `toml:"mcp"`
	Streaming        bool `toml:"streaming"`
	Interrupt        bool `toml:"interrupt"`
	Compact          bool `toml:"compact"`
	MultiTurn        bool `toml:"multi_turn"`
	FileEditing      bool `toml:"file_editing"`
	CommandExecution bool `toml:"command_execution"`
	Approval         bool `toml:"approval"`
	Resume           bool `toml:"resume"`
	QueueWhileBusy   bool `toml:"queue"`
	ModelFlag        bool `toml:"model_flag"`
	Question         bool `toml:"question"`
	Usage            bool `toml:"usage"`
}

// Launch says how the agent CLI is started. Strings in Parts are Go templates
// over a launchFacts.
type Launch struct {
	CredentialsEnv []string          `toml:"credentials_env"` // passed on from the user's environment
	Permission     map[string]string `toml:"permission"`      // coleo.PermissionMode -> the agent CLI's own word
	Parts          []Part            `toml:"part"`
	RenameEnv      map[string]string `toml:"rename_env"` // beginnings of names of variables in the base's launch -> this one's
	NewID          bool              `toml:"new_id"`     // Coleo chooses the conversation's id, a UUID
	Trust          Trust             `toml:"trust"`
	Join           []string          `toml:"join"` // options that count once, with JSON or a file of it: what several give is joined
}

// Part is a piece of a command line, environment and HOME, used when If
// renders to something other than "" and "false". An empty If always is.
type Part struct {
	If    string            `toml:"if"`
	Args  []string          `toml:"args"`
	Env   map[string]string `toml:"env"`
	Files map[string]string `toml:"files"` // path below HOME -> content; only with ProfileHermetic
}

// Keys are sequences of key names (pty.Key), separated by blanks.
type Keys struct {
	Submit    string `toml:"submit"`
	Queue     string `toml:"queue"` // instead of Submit while it works, where another key queues a prompt and answers no dialog; a text that is folded to a note is refused then
	Interrupt string `toml:"interrupt"`
	Quit      string `toml:"quit"`    // a sequence, or a command that is typed and submitted
	Compact   string `toml:"compact"` // a command that is typed and submitted, once CompactWhen holds
	Clear     string `toml:"clear"`   // empties the composer
}

// Timing is in milliseconds.
type Timing struct {
	Settle      int `toml:"settle_ms"`      // how long idle and error must hold
	Begin       int `toml:"begin_ms"`       // how long after a submit idle counts only behind work that was seen
	PasteGap    int `toml:"paste_gap_ms"`   // between text and submit
	KeyGap      int `toml:"key_gap_ms"`     // between keys of a sequence
	DialogGap   int `toml:"dialog_gap_ms"`  // that a dialog must have stood before it takes keys
	Start       int `toml:"start_ms"`       // until the first known screen
	Unknown     int `toml:"unknown_ms"`     // until an unknown screen is reported
	Interrupted int `toml:"interrupted_ms"` // until an interrupt must have shown
}

// Composer says where the agent CLI takes text: the rows between its upper and
// its lower edge.
type Composer struct {
	Bottom string `toml:"bottom"` // of the row below it, found from the bottom up; "cursor": it ends on the cursor's row
	// Leaves says that a cursor on an empty row has left the composer: the program
	// has taken the text above. A row that the terminal has wrapped is none such.
	Leaves bool   `toml:"leaves"`
	Top    string `toml:"top"`   // of the row above it
	Row    string `toml:"row"`   // instead of top: of each of its rows
	First  string `toml:"first"` // that its first row must match; what is matched is cut off
	Head   string `toml:"head"`  // of rows between Top and the first row that are not its own
	Tall   bool   `toml:"tall"`  // it may be taller than the screen: then it begins at the top, if the cursor is in it
	Strip  string `toml:"strip"` // cut off each row
	Side   string `toml:"side"`  // of the screen's last row: where a sidebar begins, which no other rule sees
	Drop   int    `toml:"drop"`  // rows at its end that hold no text
	Empty  string `toml:"empty"` // of its text when it holds nothing: a placeholder
	Held   string `toml:"held"`  // of its text when a paste is folded to a note
	Tab    string `toml:"tab"`   // what it shows for a tab, if not blanks
	// TabGarbles says that rows behind a tab are drawn over each other: then the
	// beginning of a text with tabs is looked for, and its end at the beginning of
	// the last row.
	TabGarbles bool   `toml:"tab_garbles"`
	Mode       string `toml:"mode"`   // a terminal mode that must be on
	Cursor     string `toml:"cursor"` // where the cursor must be: "inside", or "not outside", where a hidden one proves nothing
	Refuse     string `toml:"refuse"` // of prompts that the agent CLI would not take as text
	Never      string `toml:"never"`  // of prompts that not even Lead makes text of: they are refused
	Lead       string `toml:"lead"`   // put before those, so that it does; without it they are refused
	Trap       string `toml:"trap"`   // of a screen on which submit would do something else
	Breaks     bool   `toml:"breaks"` // submit may become an empty row below the text: when that is seen it is pressed once more

	bottom, top, row, first, head, strip, side, empty, held, refuse, never, trap *regexp.Regexp
}

// Cond is one thing that must be so, or with Not must not be so.
type Cond struct {
	Where   string `toml:"where"` // see region
	Pattern string `toml:"pattern"`
	Colour  string `toml:"colour"` // red, green or blue: what stands out in the text's colour, at the group mark or the first character
	Not     bool   `toml:"not"`

	where   region
	pattern *regexp.Regexp
	needs   []string // words of which each text that pattern matches holds one
}

// Rule maps a picture to a state: the first one all of whose conditions hold
// decides. A group called detail becomes the reading's detail.
type Rule struct {
	Name  string `toml:"name"`
	State string `toml:"state"`
	Late  bool   `toml:"late"` // says nothing of an agent CLI that still starts
	When  []Cond `toml:"when"`
}

// DialogRule recognises a dialog, takes it apart and knows its keys.
type DialogRule struct {
	Name     string   `toml:"name"`
	Kind     string   `toml:"kind"`
	When     []Cond   `toml:"when"`
	Strip    string   `toml:"strip"`     // cut off each row first
	Title    string   `toml:"title"`     // of the row with the question, from the bottom up; first group, if any. It may go on below where a terminal is narrow
	Block    bool     `toml:"block"`     // instead of Title: it is the whole paragraph above the numbered options, whatever it says
	Top      string   `toml:"top"`       // of the row above the dialog
	Subject  string   `toml:"subject"`   // "above" or "below" the title
	Cut      []Cond   `toml:"cut"`       // when the subject goes on beyond what is shown; without it a row that ends with … tells
	Draft    []Cond   `toml:"draft"`     // while what it is about is not drawn yet: it is told later then, and as cut off
	Gutter   string   `toml:"gutter"`    // before the text of the subject's rows: a line, line numbers
	Changed  string   `toml:"changed"`   // of rows of a subject that shows changes among what stays
	Option   string   `toml:"option"`    // of a row; groups mark, number, label
	Heading  bool     `toml:"heading"`   // where no Title is found, it is the first row below Top
	Options  []string `toml:"options"`   // when they are always the same
	Choice   string   `toml:"choice"`    // of each option, when they stand behind the title: its groups together are the label
	Chosen   string   `toml:"chosen"`    // of what stands behind those: its group is the label of the one that is marked
	End      string   `toml:"end"`       // of the row behind options or subject
	Default  int      `toml:"default"`   // 0-based, when Option cannot tell
	Mark     string   `toml:"mark"`      // "background" when that alone shows which of Options is marked
	Select   string   `toml:"select"`    // "digit", "arrows", "row" (arrows to the left and right) or "keys"
	Approve  string   `toml:"approve"`   // pattern of the option, or keys with Select = "keys"
	Always   string   `toml:"always"`    // the same for approve_always
	Deny     string   `toml:"deny"`      // the same for deny
	DenyKeys string   `toml:"deny_keys"` // keys that deny whatever the options are

	strip, title, top, option, end *regexp.Regexp
	choice, chosen                 *regexp.Regexp
	gutter, changed                *regexp.Regexp
	approve, always, deny          *regexp.Regexp
}

// AnswerRule takes the last answer from the screen, where the agent CLI keeps
// no transcript that Coleo reads.
type AnswerRule struct {
	Begin string `toml:"begin"` // of an answer's first row; the text is in the first group
	End   string `toml:"end"`   // of the first row that is no longer part of it; it may begin another
	Strip string `toml:"strip"` // removed from each of its rows
	Whole bool   `toml:"whole"` // all that was printed since the prompt is the answer

	begin, end, strip *regexp.Regexp
}

// defaultTiming is what a harness.toml need not say.
func defaultTiming() Timing {
	return Timing{Settle: 400, PasteGap: 100, KeyGap: 30, DialogGap: 400, Start: 60_000, Unknown: 10_000, Interrupted: 5_000}
}

func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }
