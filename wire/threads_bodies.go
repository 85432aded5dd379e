package wire

import (
	"coleo.dev"
)

type ThreadTitle struct {
	Title string `json:"title" maxLength:"400" doc:"The new title; empty for the agent CLI's own title"`
}

type ThreadSwitch struct {
	Conversation string `json:"conversation" minLength:"1" doc:"Id of the conversation to continue"`
}

type ThreadReply struct {
	Thread coleo.Thread `json:"thread"`
}
