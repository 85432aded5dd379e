package bus

import (
	"coleo.dev/changes"
)

// DiffOrder asks for the changes of an arm. A diff can be larger than a message of the bus, so the
// report contains only its first piece. To ask for a later piece, serve sends an order with the ID
// of the diff and the offset From.
type DiffOrder struct {
	Arm     string              `json:"arm"`
	Request changes.DiffRequest `json:"wish"`
	ID      string              `json:"id,omitempty"`
	From    int                 `json:"from,omitempty"`
}

// Piece is a part of the JSON of a changes.Diff. Total is the size of the whole JSON, in bytes.
type Piece struct {
	ID    string `json:"id,omitempty"`
	Data  []byte `json:"data"`
	Total int    `json:"total"`
}

// RestoreOrder restores the files of the checkpoint with the number N.
type RestoreOrder struct {
	Arm string `json:"arm"`
	N   int    `json:"n"`
}

// MergeOrder merges an arm's work into another branch. The arm must have a worktree.
type MergeOrder struct {
	Arm     string               `json:"arm"`
	Request changes.MergeRequest `json:"wish"`
	By      string               `json:"by,omitempty"` // the person or program that asked for the merge
}
