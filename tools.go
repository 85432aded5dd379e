package coleo

import (
	"slices"
	"strings"
)

// This file contains the names of Coleo's own tools for arms.

// ToolServer is the name under which an agent CLI knows the MCP server with Coleo's tools.
const ToolServer = "coleo"

// The names of Coleo's tools for arms.
const (
	ToolAskUser       = "ask_user"
	ToolSubmitPlan    = "submit_plan"
	ToolRequestAccess = "request_access"
	ToolAwaitAnswer   = "await_answer"
	ToolTaskWrite     = "task_write"
	ToolTaskUpdate    = "task_update"
	ToolTaskComplete  = "task_complete"
	ToolTaskCheck     = "task_check"
	ToolHeartbeat     = "heartbeat"
	ToolShareNote     = "share_note"
	ToolStatusReport  = "submit_status_report"
	ToolInstructions  = "get_my_instructions"
	ToolClaimFile     = "claim_file"
	ToolConflicts     = "check_conflicts"
	ToolSpawnArm      = "spawn_arm"
	ToolAwaitArm      = "await_arm"
	ToolMessageArm    = "message_arm"
	ToolListArms      = "list_arms"
)

// ArmTools returns the names of all of Coleo's tools for arms.
func ArmTools() []string {
	return []string{ToolAskUser, ToolSubmitPlan, ToolRequestAccess, ToolAwaitAnswer, ToolTaskWrite, ToolTaskUpdate,
		ToolTaskComplete, ToolTaskCheck, ToolHeartbeat, ToolShareNote, ToolStatusReport, ToolInstructions,
		ToolClaimFile, ToolConflicts, ToolSpawnArm, ToolAwaitArm, ToolMessageArm, ToolListArms}
}

// SubarmTools returns the names of the tools with which a model can reach other arms.
func SubarmTools() []string {
	return []string{ToolSpawnArm, ToolAwaitArm, ToolMessageArm, ToolListArms}
}

// CheckTools returns EInvalid if a name is not the name of one of Coleo's tools.
func CheckTools(names []string) error {
	for _, name := range names {
		if !slices.Contains(ArmTools(), name) {
			return Errorf(EInvalid, "%q is not a tool of Coleo: the tools are %s", name, strings.Join(ArmTools(), ", "))
		}
	}
	return nil
}
