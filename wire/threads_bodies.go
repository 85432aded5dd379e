package wire

import (
	"coleo.dev"
)

// ThreadTitle is the body of PATCH /api/threads/{harness}/{id}.
type ThreadTitle struct {
	Title string `json:"title" maxLength:"400" doc:"The new title; empty for the agent CLI's own title"`
}

// ThreadSwitch is the body of POST /api/arms/{id}/thread.
type ThreadSwitch struct {
	Conversation string `json:"conversation" minLength:"1" doc:"Id of the conversation to continue"`
}

// ThreadReply contains one conversation. It answers routes that show or change a conversation.
type ThreadReply struct {
	Thread coleo.Thread `json:"thread"`
}
