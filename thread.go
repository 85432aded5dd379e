package coleo

import "time"

// Thread is a conversation of an agent CLI. The agent CLI keeps the conversation in its own files,
// and continues it by its id. Coleo adds a title, and a mark if a user has deleted the
// conversation.
type Thread struct {
	ID      string `json:"id"`      // the agent CLI's own id
	Harness string `json:"harness"` // the harness that continues it
	Host    string `json:"host"`    // id of the host agent that has read it
	// Home is the HOME of the agent CLI. It is empty for the user's own HOME.
	Home    string    `json:"home,omitempty"`
	Path    string    `json:"path"`              // the agent CLI's file
	Folder  string    `json:"folder,omitempty"`  // the work folder; "" if the file does not name it
	Project string    `json:"project,omitempty"` // root of the git repository with the folder, or the folder
	Title   string    `json:"title,omitempty"`   // the user's title, the agent CLI's title, or the first prompt
	Preview string    `json:"preview,omitempty"` // the last prompt or answer
	Begun   time.Time `json:"begun,omitzero"`
	Last    time.Time `json:"last,omitzero"`
	Prompts int       `json:"prompts"`
	// Partly means that Prompts counts only the beginning of a long conversation. A search
	// reads the whole conversation.
	Partly bool `json:"partly,omitempty"`
	// Hidden says why lists leave out the conversation: fork, subagent or deleted. It is
	// empty for any other conversation.
	Hidden string `json:"hidden,omitempty"`
	// Arm is the name of the live arm that has the conversation. It is "" if no live arm has it.
	Arm   string        `json:"arm,omitempty"`
	Match []SnippetPart `json:"match,omitempty"` // where the words of a search were found
	Rank  float64       `json:"rank,omitempty"`  // of a search; a lower rank is a better match
}

// ForkOrigin is the conversation of which an arm has got a copy.
type ForkOrigin struct {
	Arm          string `json:"arm,omitempty"`  // id of the arm that was forked; "" if a conversation was copied
	Name         string `json:"name,omitempty"` // name of that arm at that time
	Conversation string `json:"conversation"`   // the agent CLI's id
}

// String returns the origin in one line, for users.
func (o ForkOrigin) String() string {
	if o.Name == "" {
		return "conversation " + o.Conversation
	}
	return "arm " + o.Name + " (conversation " + o.Conversation + ")"
}

// HiddenDeleted is the value of Thread.Hidden after a user has deleted the conversation.
const HiddenDeleted = "deleted"

// SnippetPart is a piece of a text that a search has found.
type SnippetPart struct {
	Text  string `json:"text"`
	Match bool   `json:"match,omitempty"` // the piece is a word of the search
}

// ThreadMessage is one message of a conversation.
type ThreadMessage struct {
	N    int       `json:"n"`              // 1 for the first message
	Kind string    `json:"kind"`           // "prompt", "answer", or "tool"
	Text string    `json:"text,omitempty"` // for a tool: its name
	Time time.Time `json:"time,omitzero"`
}

// ThreadFilter selects conversations. An empty field selects all.
type ThreadFilter struct {
	Project string    `json:"project,omitempty"` // a folder; its git repository is the project
	Harness string    `json:"harness,omitempty"`
	ID      string    `json:"id,omitempty"`
	Prefix  string    `json:"prefix,omitempty"` // the beginning of an id
	Words   string    `json:"words,omitempty"`  // all must be in one message; "words in quotes" are a phrase
	Arm     string    `json:"arm,omitempty"`    // only those that this arm can continue
	Since   time.Time `json:"since,omitzero"`
	Hidden  bool      `json:"hidden,omitempty"` // also those that lists leave out
	Limit   int       `json:"limit,omitempty"`
}

// ThreadList is the result of a listing or a search.
type ThreadList struct {
	Threads []Thread `json:"threads"`
	// Unread is the number of conversations that could not be read in time. Another request
	// continues with them.
	Unread int `json:"unread,omitempty"`
	// Failed says which hosts or files could not be read, and why.
	Failed []string `json:"failed,omitempty"`
}

// ThreadPage is a conversation with some of its messages.
type ThreadPage struct {
	Thread   Thread          `json:"thread"`
	Messages []ThreadMessage `json:"messages"`
	Next     int             `json:"next,omitempty"` // after this message the next page begins; 0 if there is none
}

// ThreadSummary is a conversation in a few lines. Its texts are parts of the conversation. Each
// text has a bound, so that the whole summary is shorter than 8,000 characters.
type ThreadSummary struct {
	ID      string    `json:"id"`
	Harness string    `json:"harness"`
	Folder  string    `json:"folder,omitempty"`
	Title   string    `json:"title,omitempty"`
	Begun   time.Time `json:"begun,omitzero"`
	Last    time.Time `json:"last,omitzero"`
	Prompts int       `json:"prompts"`
	Answers int       `json:"answers"`
	Tools   int       `json:"tools"`            // calls of tools
	First   string    `json:"first,omitempty"`  // the first prompt
	Recent  []string  `json:"recent,omitempty"` // the last prompts, the oldest first, without the first prompt
	Answer  string    `json:"answer,omitempty"` // the last answer
	// Files are the files that an arm of Coleo has changed in the conversation, as the model has
	// named them. The file that was changed last comes first.
	Files     []string `json:"files,omitempty"`
	MoreFiles int      `json:"more_files,omitempty"` // changed files that Files leaves out
	Tasks     []Task   `json:"tasks,omitempty"`      // the open tasks of the agent CLI's own list
	MoreTasks int      `json:"more_tasks,omitempty"` // open tasks that Tasks leaves out
}

// ThreadChange changes what Coleo stores about a conversation.
type ThreadChange struct {
	Title  *string `json:"title,omitempty"`  // "" means the agent CLI's own title
	Delete bool    `json:"delete,omitempty"` // hide it, and forget its texts
	File   bool    `json:"file,omitempty"`   // with Delete: delete the agent CLI's own file, too
}
