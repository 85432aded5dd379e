package armtools

import (
	"encoding/json"

	"coleo.dev"
)

// description is what a model learns about a tool.
type description struct {
	text  string
	reads bool // whether the tool changes nothing
	// `properties` contains the properties of the arguments, as JSON. `required` contains the names of the
	// required arguments.
	properties string
	required   []string
}

// schema returns the JSON schema of the arguments.
func (d description) schema() json.RawMessage {
	required := d.required
	if required == nil {
		required = []string{}
	}
	out, err := json.Marshal(map[string]any{"type": "object", "properties": json.RawMessage("{" + d.properties + "}"),
		"required": required})
	if err != nil {
		panic(err) // this never happens, because a test computes the schema of each tool
	}
	return out
}

const statusSchema = `"status":{"type":"string","enum":["pending","in_progress","completed"]}`

// descriptions contains the description of each tool, by the tool's name.
var descriptions = map[string]description{
	coleo.ToolAskUser: {
		text: "Ask your user a question, and wait for the answer. Use it when you need a decision. " +
			"The user may take hours.",
		properties: `"question":{"type":"string"},` +
			`"options":{"type":"array","items":{"type":"string"},` +
			`"description":"Answers to choose from. The user can also reply in words."},` +
			`"multiple":{"type":"boolean","description":"Several options can be chosen. It needs options."}`,
		required: []string{"question"},
	},
	coleo.ToolSubmitPlan: {
		text:       "Submit a plan to your user, and wait until they approve or reject it.",
		properties: `"plan":{"type":"string"}`, required: []string{"plan"},
	},
	coleo.ToolRequestAccess: {
		text: "Ask your user for access to something, and wait until they allow or deny it.",
		properties: `"what":{"type":"string","description":"for example a folder, a service or a permission"},` +
			`"why":{"type":"string"}`,
		required: []string{"what", "why"},
	},
	coleo.ToolAwaitAnswer: {
		text:       "Continue to wait for the answer to a question, a plan or a request that you have submitted before.",
		properties: `"id":{"type":"string","description":"Can be left out if only one request waits."}`,
	},
	coleo.ToolTaskWrite: {
		text: "Write your list of tasks. It replaces the list. The result has the ids of the tasks.",
		properties: `"tasks":{"type":"array","items":{"type":"object","properties":{"text":{"type":"string"},` +
			statusSchema + `},"required":["text"]}}`,
		required: []string{"tasks"},
	},
	coleo.ToolTaskUpdate: {
		text:       "Change the text or the status of one task.",
		properties: `"id":{"type":"string"},"text":{"type":"string"},` + statusSchema, required: []string{"id"},
	},
	coleo.ToolTaskComplete: {
		text:       "Mark one task as completed.",
		properties: `"id":{"type":"string"}`, required: []string{"id"},
	},
	coleo.ToolTaskCheck: {text: "List the tasks that are not completed.", reads: true},
	coleo.ToolHeartbeat: {
		text:       "Tell your user what you do now, in a few words.",
		properties: `"status":{"type":"string"},"current_task":{"type":"string"}`, required: []string{"status"},
	},
	coleo.ToolShareNote: {
		text: "Record a note for your user and for other arms.",
		properties: `"title":{"type":"string"},"content":{"type":"string"},` +
			`"tags":{"type":"array","items":{"type":"string"}}`,
		required: []string{"title", "content"},
	},
	coleo.ToolStatusReport: {
		text: "Report how your work goes.",
		properties: `"status":{"type":"string",` +
			`"enum":["on_track","blocked","issues_found","needs_review","completed_with_issues"]},` +
			`"summary":{"type":"string"},` + listSchemas("issues", "blockers", "nextSteps", "filesChanged") +
			`"testsStatus":{"type":"string"}`,
		required: []string{"status", "summary"},
	},
	coleo.ToolInstructions: {text: "Read your name, your tasks and your present prompt.", reads: true},
	coleo.ToolClaimFile: {
		text: "Tell other arms that you use a file. If another arm has a claim that excludes yours, this is an error.",
		properties: `"file_path":{"type":"string"},"claim_type":{"type":"string","enum":["read","write","exclusive"]},` +
			`"reason":{"type":"string"}`,
		required: []string{"file_path", "claim_type"},
	},
	coleo.ToolConflicts: {
		text: "List the other arms that have claimed a file.", reads: true,
		properties: `"file_path":{"type":"string"}`, required: []string{"file_path"},
	},
	coleo.ToolSpawnArm: {
		text: "Start a subarm: another agent like you, that works for you on a prompt. Your user must approve it. " +
			"It has your harness, and at most your permissions. Then call await_arm to wait for its answer.",
		properties: `"name":{"type":"string",` +
			`"description":"1 to 20 letters, digits, '_' or '-'. Your own name is put before it."},` +
			`"prompt":{"type":"string","description":"Everything that the subarm has to do. ` +
			`It knows nothing about your conversation."},` +
			`"folder":{"type":"string","description":"The folder in which it works, within yours. Default: yours."},` +
			`"permission_mode":{"type":"string","enum":["plan","ask","edit","all"],` +
			`"description":"Not more than yours. Default: yours."}`,
		required: []string{"name", "prompt"},
	},
	coleo.ToolAwaitArm: {
		text:  "Wait until one of your subarms has no prompts left, and read its last answer. This may take hours.",
		reads: true, properties: `"name":{"type":"string","description":"Can be left out if you have one subarm."}`,
	},
	coleo.ToolMessageArm: {
		text:       "Send a message to one of your subarms or to your parent, as a prompt. Your user must approve it.",
		properties: `"to":{"type":"string","description":"The name of the subarm, or parent."},"text":{"type":"string"}`,
		required:   []string{"to", "text"},
	},
	coleo.ToolListArms: {text: "List your subarms and your parent, and what they do now.", reads: true},
}

// listSchemas returns the JSON schemas of the named arguments. Each argument is a list of texts.
func listSchemas(names ...string) (out string) {
	for _, name := range names {
		out += `"` + name + `":{"type":"array","items":{"type":"string"}},`
	}
	return out
}
