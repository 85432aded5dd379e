package wire

import (
	"coleo.dev"
	"coleo.dev/changes"
)

// FollowUpBody is a prompt for the queue of an arm: the body of PATCH /api/arms/{id}/queue/{entry}.
type FollowUpBody struct {
	Prompt string   `json:"prompt" minLength:"1" doc:"The text"`
	Files  []string `json:"files,omitempty" doc:"Absolute paths on the arm's machine, added to the text"`
}

// AddBody is the body of POST /api/arms/{id}/followup.
type AddBody struct {
	FollowUpBody
	ID string `json:"id,omitempty" pattern:"^[A-Z2-7]{26}$" doc:"The id of the prompt, if the caller chooses it"`
}

// MoveBody is the body of POST /api/arms/{id}/queue/move.
type MoveBody struct {
	Entry string `json:"entry" minLength:"1" doc:"Id of the entry"`
	To    int    `json:"to" minimum:"1" doc:"The new place, from 1"`
}

// PauseBody is the body of POST /api/arms/{id}/pause.
type PauseBody struct {
	Why string `json:"why,omitempty" maxLength:"200" doc:"The reason, for people"`
}

// UnparkBody is the body of POST /api/arms/{id}/unpark.
type UnparkBody struct {
	Cancel bool `json:"cancel,omitempty" doc:"Do not continue by itself; prompts are sent from the queue again"`
}

// OnLimitBody is the body of POST /api/arms/{id}/on-limit.
type OnLimitBody struct {
	OnLimit coleo.OnLimit `json:"onLimit" minLength:"1" maxLength:"500" doc:"A list of model:NAME, handover:HARNESS, and wait or ask"` //nolint:lll // a tag has one line
}

// SteerBody is the body of POST /api/arms/{id}/steer.
type SteerBody struct {
	Prompt    string   `json:"prompt" minLength:"1" doc:"The text"`
	Interrupt bool     `json:"interrupt,omitempty" doc:"Stop the running turn, even if the agent CLI keeps a queue"`
	Files     []string `json:"files,omitempty" doc:"Absolute paths on the arm's machine, added to the text"`
}

// AbortReply answers POST /api/arms/{id}/abort.
type AbortReply struct {
	Success bool `json:"success"`
	coleo.Aborted
}

// SteerReply answers POST /api/arms/{id}/steer.
type SteerReply struct {
	Success bool `json:"success"`
	coleo.Steering
}

// CommentsReply contains all comments on the changes of an arm. It answers the routes about comments.
type CommentsReply struct {
	Comments []changes.Comment `json:"comments"`
}

// CommentBody contains the fields of a comment that a client sets. Serve sets the other fields.
type CommentBody struct {
	Path string `json:"path" minLength:"1" maxLength:"4096" doc:"The file, relative to the arm's folder"`
	Line int    `json:"line" minimum:"1" doc:"Number of the line, from 1"`
	Text string `json:"text" minLength:"1" maxLength:"4096" doc:"The comment for the agent CLI"`
}
