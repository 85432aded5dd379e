package wire

import (
	"encoding/json"

	"coleo.dev"
)

type ArmsReply struct {
	Arms []coleo.Arm `json:"arms"`
}

type ArmReply struct {
	Arm coleo.Arm `json:"arm"`
}

type KillReply struct {
	Killed bool      `json:"killed"`
	Arm    coleo.Arm `json:"arm"`
}

type DeleteReply struct {
	Deleted bool `json:"deleted"`
	Removed
}

type RenameBody struct {
	Name string `json:"name" minLength:"1" doc:"The new name"`
}

type MemoBody struct {
	Value json.RawMessage `json:"value" doc:"The whole new value: any JSON"`
}

type MemoPatch struct {
	Merge json.RawMessage `json:"merge" doc:"JSON Merge Patch (RFC 7396): keys to replace; null removes a key"`
}
