package coleo

import "time"

// Thread is a conversation of an agent CLI. The agent CLI keeps the conversation in its own files,
// and continues it by its id. Coleo stores two facts in addition: the user's title, and whether a
// user has deleted the conversation.
type Thread struct {
	ID      string `json:"id"`      // the id that the agent CLI gave the conversation
	Harness string `json:"harness"` // the harness whose agent CLI continues the conversation
	Host    string `json:"host"`    // the id of the host agent that has read the conversation
	// Home is the HOME of the agent CLI. It is empty for the user's own HOME.
	Home   string `json:"home,omitempty"`
	Path   string `json:"path"`             // the path of the agent CLI's file with the conversation
	Folder string `json:"folder,omitempty"` // the work folder; "" if the agent CLI's file does not contain it
	// the root of the folder's git repository; without a repository, the folder
	Project string    `json:"project,omitempty"`
	Title   string    `json:"title,omitempty"`   // the user's title, the agent CLI's title, or the first prompt
	Preview string    `json:"preview,omitempty"` // the last prompt or answer
	Begun   time.Time `json:"begun,omitzero"`
	Last    time.Time `json:"last,omitzero"`
	Prompts int       `json:"prompts"`
	// Partly means that Prompts counts only the beginning of a long conversation. A search
	// reads the whole conversation.
	Partly bool `json:"partly,omitempty"`
	// Hidden says why lists omit the conversation: "fork", "subagent" or "deleted". It is empty if
	// lists show the conversation.
	Hidden string `json:"hidden,omitempty"`
	// Arm is the name of the live arm that has the conversation. It is "" if no live arm has it.
	Arm   string        `json:"arm,omitempty"`
	Match []SnippetPart `json:"match,omitempty"` // the text around the words of a search
	Rank  float64       `json:"rank,omitempty"`  // the rank in a search; a lower rank is a better match
}

// ForkOrigin is the original of a conversation that an arm has copied.
type ForkOrigin struct {
	// the id of the arm that was forked; "" if only a conversation was copied
	Arm          string `json:"arm,omitempty"`
	Name         string `json:"name,omitempty"` // the name of the forked arm at the time of the fork
	Conversation string `json:"conversation"`   // the agent CLI's id of the original conversation
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

// SnippetPart is a piece of a text in the result of a search.
type SnippetPart struct {
	Text  string `json:"text"`
	Match bool   `json:"match,omitempty"` // whether the piece is a word of the search
}

// ThreadMessage is one message of a conversation.
type ThreadMessage struct {
	N    int       `json:"n"`              // the number of the message; the first message has the number 1
	Kind string    `json:"kind"`           // "prompt", "answer", or "tool"
	Text string    `json:"text,omitempty"` // the text of the message; for a tool, the name of the tool
	Time time.Time `json:"time,omitzero"`
}

// ThreadFilter selects conversations. An empty field selects all conversations.
type ThreadFilter struct {
	Project string `json:"project,omitempty"` // any folder of the wanted project, which is a git repository
	Harness string `json:"harness,omitempty"`
	ID      string `json:"id,omitempty"`
	Prefix  string `json:"prefix,omitempty"` // the beginning of the conversation's id
	// one message must contain all of these words; "words in quotes" are a phrase
	Words string `json:"words,omitempty"`
	// the id or name of an arm; selects the conversations that this arm can continue
	Arm    string    `json:"arm,omitempty"`
	Since  time.Time `json:"since,omitzero"`
	Hidden bool      `json:"hidden,omitempty"` // whether to select also the conversations that lists omit
	Limit  int       `json:"limit,omitempty"`
}

// ThreadList is the result of a listing or a search.
type ThreadList struct {
	Threads []Thread `json:"threads"`
	// Unread is the number of conversations that could not be read in time. The next request reads
	// more of them.
	Unread int `json:"unread,omitempty"`
	// Failed says which hosts or files could not be read, and why.
	Failed []string `json:"failed,omitempty"`
}

// ThreadPage is a conversation with some of its messages.
type ThreadPage struct {
	Thread   Thread          `json:"thread"`
	Messages []ThreadMessage `json:"messages"`
	// the number of the message after which the next page begins; 0 if there is no next page
	Next int `json:"next,omitempty"`
}

// ThreadSummary describes a conversation in a few lines, with parts of its texts. The size of each
// text is limited, so that the whole summary is shorter than 8,000 characters.
type ThreadSummary struct {
	ID      string    `json:"id"`
	Harness string    `json:"harness"`
	Folder  string    `json:"folder,omitempty"`
	Title   string    `json:"title,omitempty"`
	Begun   time.Time `json:"begun,omitzero"`
	Last    time.Time `json:"last,omitzero"`
	Prompts int       `json:"prompts"`
	Answers int       `json:"answers"`
	Tools   int       `json:"tools"`            // the number of tool calls
	First   string    `json:"first,omitempty"`  // the first prompt
	Recent  []string  `json:"recent,omitempty"` // the last prompts, the oldest first, without the first prompt
	Answer  string    `json:"answer,omitempty"` // the last answer
	// Files contains the files that an arm of Coleo has changed in the conversation, with the names
	// that the model used. The file that was changed last comes first.
	Files     []string `json:"files,omitempty"`
	MoreFiles int      `json:"more_files,omitempty"` // the number of changed files that Files omits
	Tasks     []Task   `json:"tasks,omitempty"`      // the open tasks of the agent CLI's own list
	MoreTasks int      `json:"more_tasks,omitempty"` // the number of open tasks that Tasks omits
}

// ThreadChange changes what Coleo stores about a conversation.
type ThreadChange struct {
	Title  *string `json:"title,omitempty"`  // the new title; "" means the agent CLI's own title
	Delete bool    `json:"delete,omitempty"` // whether to hide the conversation, and delete Coleo's copy of its texts
	File   bool    `json:"file,omitempty"`   // whether to delete the agent CLI's own file too; used only with Delete
}
