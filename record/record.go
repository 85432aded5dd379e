package record

import (
	"time"

	"coleo.dev"
)

// Kind is what an Entry reports.
type Kind string

// The values of Kind.
const (
	Prompt Kind = "prompt" // the agent CLI has taken a prompt, and a turn begins
	Queued Kind = "queued" // the agent CLI keeps a prompt until the turn ends
	Answer Kind = "answer" // the model said something
	Tool   Kind = "tool"   // the model called a tool, or a tool returned its result
	End    Kind = "end"    // the turn has ended
	Ready  Kind = "ready"  // the agent CLI has begun or resumed the conversation, and takes prompts
	Detail Kind = "detail" // the entry contains only Work, and reports nothing about the agent CLI's state
)

// Ending is how a turn ended.
type Ending string

// The values of Ending.
const (
	Finished    Ending = "finished"
	Interrupted Ending = "interrupted"
	Denied      Ending = "denied" // the user refused a tool, and the agent CLI stopped
	Failed      Ending = "failed"
)

// Entry is one item of an agent CLI's record.
type Entry struct {
	Kind   Kind
	Turn   string    // the agent CLI's own id of the turn; "" if it has none
	Text   string    // text of the prompt, the answer or the error, or the name of the tool
	Ending Ending    // how the turn ended, if Kind is End
	MayEnd bool      // whether an Answer may be the last of its turn, in a record that does not mark the end of a turn
	ByUser bool      // whether a person or Coleo has typed the Prompt
	Time   time.Time // when the entry was written, by the agent CLI's clock; zero if the record has no time

	// Work is what the entry adds to the events of its run, or nil. Reply, Model, Position and Key
	// have the same meaning as in coleo.Activity. A Decoder leaves Position empty, because the
	// reader sets it to the end of the line. If a Decoder leaves Key empty, the reader sets Key to
	// the number of the entry in its line.
	Work     coleo.Work
	Reply    string
	Model    string
	Position int64
	Key      string
}

// Decoder turns the lines of one record into entries. It keeps state between lines, so
// each record needs its own Decoder. It is not safe for concurrent use.
type Decoder interface {
	// Decode returns the entries of one line, which has no line end. Most lines have no entries.
	Decode(line []byte) []Entry
}

// Activities returns what the entries report about the agent CLI's work, such as calls and texts. It also
// returns the prompts, because they show to which run the following activities belong.
func Activities(entries []Entry) []coleo.Activity {
	var out []coleo.Activity
	for _, e := range entries {
		work := e.Work
		if e.Kind == Prompt {
			work = coleo.Prompted{Text: e.Text}
		}
		if work != nil {
			out = append(out, coleo.Activity{Work: work, Source: coleo.SourceTranscript, Time: e.Time,
				Reply: e.Reply, Model: e.Model, Position: e.Position, Key: e.Key})
		}
	}
	return out
}
