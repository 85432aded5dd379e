package wire

import "coleo.dev/changes"

// CheckpointsReply answers GET /api/arms/{id}/checkpoints.
type CheckpointsReply struct {
	Checkpoints []changes.Checkpoint `json:"checkpoints"`
}

// RestoreBody is the body of POST /api/arms/{id}/restore.
type RestoreBody struct {
	Checkpoint int `json:"checkpoint" minimum:"0" doc:"Number of the checkpoint"`
}

// MergeBody is the body of POST /api/arms/{id}/merge.
type MergeBody struct {
	changes.MergeRequest
	AskArm bool `json:"askArm,omitempty" doc:"Send conflicts to the arm as one prompt"`
}
