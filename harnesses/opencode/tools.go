package opencode

import (
	"encoding/json"
	"regexp"
	"strings"

	"coleo.dev"
	"coleo.dev/record"
)

// This file reads the calls of tools: their names, arguments, ends and errors.

// kinds maps OpenCode's own tools to their kinds. A tool of the kind ToolOther is listed only if its name
// contains "_". Without the entry, kindOf would take it for a tool of an MCP server.
var kinds = map[string]coleo.ToolKind{
	"read": coleo.ToolRead, "glob": coleo.ToolRead, "grep": coleo.ToolRead, "list": coleo.ToolRead, "lsp": coleo.ToolRead,
	"edit": coleo.ToolEdit, "write": coleo.ToolEdit, "multiedit": coleo.ToolEdit, "patch": coleo.ToolEdit,
	"apply_patch": coleo.ToolEdit,
	"bash":        coleo.ToolExecute, "task": coleo.ToolSubagent,
	"plan_enter": coleo.ToolOther, "plan_exit": coleo.ToolOther,
	// These tools belong to Kilo CLI.
	"background_process": coleo.ToolExecute, "board_post": coleo.ToolOther, "board_read": coleo.ToolOther,
	"cancel_wakeup": coleo.ToolOther, "schedule_wakeup": coleo.ToolOther, "kilo_local_recall": coleo.ToolOther,
}

// kindOf returns the kind of a tool. An unknown name that contains "_" names an MCP server and one
// of its tools.
func kindOf(name string) coleo.ToolKind {
	if kind := kinds[name]; kind != "" {
		return kind
	}
	if strings.Contains(name, "_") {
		return coleo.ToolMCP
	}
	return coleo.ToolOther
}

// invalid is the name of the tool that OpenCode records in place of a call that it cannot make.
const invalid = "invalid"

// unaccepted finds the arguments of a call in the error text of that call. OpenCode quotes the arguments in
// this text if it does not accept them.
var unaccepted = regexp.MustCompile(`(?s)^Invalid input for tool .*?: (?:(JSON parsing failed: Text)|[^:]*: Value): ` +
	`(.*)\.\nError message: (.*)$`)

// callOf returns the call that a part describes.
func callOf(p eventPart) coleo.ToolCall {
	if text := argumentsNotJSON(p.State.Input); text != "" {
		return record.MalformedCall(p.Call, p.Tool, kindOf(p.Tool), text)
	}
	if p.Tool != invalid {
		return record.Call(p.Call, p.Tool, kindOf(p.Tool), string(p.State.Input))
	}
	var in struct {
		Tool  string `json:"tool"`
		Error string `json:"error"`
	}
	_ = json.Unmarshal(p.State.Input, &in)
	m := unaccepted.FindStringSubmatch(in.Error)
	switch {
	// The model has called a tool that OpenCode does not have. OpenCode keeps no arguments of such a call.
	case m == nil:
		return coleo.ToolCall{ID: p.Call, Name: in.Tool, Kind: coleo.ToolOther}
	case m[1] != "":
		return record.MalformedCall(p.Call, in.Tool, kindOf(in.Tool), m[2])
	}
	return record.Call(p.Call, in.Tool, kindOf(in.Tool), m[2])
}

// argumentsNotJSON returns the arguments of a call if they are not JSON, and "" if they are. Kilo CLI puts
// arguments that are not JSON into an object.
func argumentsNotJSON(input json.RawMessage) string {
	var object map[string]json.RawMessage
	var text string
	if json.Unmarshal(input, &object) != nil || len(object) != 1 || json.Unmarshal(object["value"], &text) != nil ||
		!strings.HasPrefix(text, "{") || json.Valid([]byte(text)) {
		return ""
	}
	return text
}

const (
	// cutOff is the beginning of the error of a call that was running when the turn was interrupted.
	cutOff = "Tool execution aborted"
	// ruled is the beginning of the error of a call that a rule of the user forbids.
	ruled = "The user has specified a rule which prevents"
	// refused is the beginning of the error of a call that the user has refused.
	refused = "The user rejected permission"
)

// endOf returns the end of a call that is completed or has failed.
func endOf(p eventPart) coleo.ToolEnd {
	s := p.State
	switch {
	case p.Tool == invalid:
		return record.FailedCall(p.Call, coleo.ToolError, s.Output+s.Error)
	case s.Status == "error":
		for _, begin := range []string{refused, dismissed, ruled} {
			if strings.HasPrefix(s.Error, begin) {
				return record.FailedCall(p.Call, coleo.ToolDenied, s.Error)
			}
		}
		return record.FailedCall(p.Call, coleo.ToolError, s.Error)
	case s.Metadata.Exit != nil:
		return record.ExitedWith(p.Call, *s.Metadata.Exit, s.Output)
	}
	return record.Succeeded(p.Call, s.Output)
}
