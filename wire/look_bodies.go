package wire

import "coleo.dev/changes"

type CheckpointsReply struct {
	Checkpoints []changes.Checkpoint `json:"checkpoints"`
}

type RestoreBody struct {
	Checkpoint int `json:"checkpoint" minimum:"0" doc:"Number of the checkpoint"`
}

type MergeBody struct {
	changes.MergeRequest
	AskArm bool `json:"askArm,omitempty" doc:"Send conflicts to the arm as one prompt"`
}
