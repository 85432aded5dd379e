package record

import "time"

// Kind is what an Entry reports.
type Kind string

// The kinds of entries.
const (
	Prompt Kind = "prompt" // the agent CLI has taken a prompt, and a turn begins with it
	Queued Kind = "queued" // the agent CLI keeps a prompt until the turn has ended
	Answer Kind = "answer" // the model said something
	Tool   Kind = "tool"   // the model called a tool, or a tool answered
	End    Kind = "end"    // the turn has ended
)

// Ending is how a turn ended.
type Ending string

// The endings of a turn.
const (
	Finished    Ending = "finished"
	Interrupted Ending = "interrupted"
	Denied      Ending = "denied" // the user refused a tool, and the agent CLI stopped at that
	Failed      Ending = "failed"
)

// Entry is one thing that an agent CLI wrote down.
type Entry struct {
	Kind   Kind
	Turn   string    // the agent CLI's own id of the turn; "" if it has none
	Text   string    // of the prompt, the answer or the error; the name of the tool
	Ending Ending    // of an End
	MayEnd bool      // an Answer that may be the last of its turn, where the record has no word for the end
	ByUser bool      // a Prompt that a person or Coleo typed, and not the agent CLI itself
	Time   time.Time // by the agent CLI's clock; zero if the record does not say
}

// Decoder turns the lines of one record into entries. A Decoder keeps what later lines
// depend on, so each record needs its own. It is not safe for concurrent use.
type Decoder interface {
	// Decode returns what one line says, without its line end. Most lines say nothing.
	Decode(line []byte) []Entry
}
