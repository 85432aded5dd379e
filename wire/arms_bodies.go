package wire

import (
	"encoding/json"

	"coleo.dev"
)

// ArmsReply contains arms. It answers GET /api/arms.
type ArmsReply struct {
	Arms []coleo.Arm `json:"arms"`
}

// ArmReply contains one arm. It answers routes that show or change an arm.
type ArmReply struct {
	Arm coleo.Arm `json:"arm"`
}

// KillReply answers POST /api/arms/{id}/kill.
type KillReply struct {
	Killed bool      `json:"killed"`
	Arm    coleo.Arm `json:"arm"`
}

// DeleteReply answers the routes that delete an arm or a conversation.
type DeleteReply struct {
	Deleted bool `json:"deleted"`
	Removed
}

// RenameBody is the body of POST /api/arms/{id}/rename.
type RenameBody struct {
	Name string `json:"name" minLength:"1" doc:"The new name"`
}

// MemoBody is the body of PUT /api/arms/{id}/memo.
type MemoBody struct {
	Value json.RawMessage `json:"value" doc:"The whole new value: any JSON"`
}

// MemoPatch is the body of PATCH /api/arms/{id}/memo.
type MemoPatch struct {
	Merge json.RawMessage `json:"merge" doc:"JSON Merge Patch (RFC 7396): keys to replace; null removes a key"`
}
