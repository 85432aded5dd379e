package modelserver

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// schema contains the parts of a JSON schema that are needed to create the arguments of a tool.
type schema struct {
	Type       any               `json:"type"` // the name of a type, or a list of such names
	Properties map[string]schema `json:"properties"`
	Required   []string          `json:"required"`
	Items      *schema           `json:"items"`
	Enum       []any             `json:"enum"`
}

// UnmarshalJSON reads any JSON schema. It ignores schemas that it does not understand.
func (s *schema) UnmarshalJSON(data []byte) error {
	type plain schema
	var p plain
	if json.Unmarshal(data, &p) == nil {
		*s = schema(p)
	}
	return nil
}

// These are the names of tools and arguments in agent CLIs, in lower case. Each list is for one
// purpose. The names come from the tool lists of ten agent CLIs in November 2026.
var (
	writeTools = []string{"write", "apply_patch", "write_file", "write_to_file", "create_file", "create", "editor"}
	runTools   = []string{"bash", "exec_command", "shell_command", "shell", "run_shell_command", "execute_command",
		"run_terminal_command", "run_commands"}
	askTools = []string{"askuserquestion", "askquestion", "question", "ask_user", "ask_user_question",
		"ask_followup_question"}

	pathArgs    = []string{"file_path", "filepath", "path", "absolute_path"}
	contentArgs = []string{"content", "file_text", "contents", "new_text"}
	commandArgs = []string{"command", "cmd", "commands"}
)

// resolve turns a Call from a script into a call of a tool that the agent CLI has offered.
func resolve(c Call, t Turn) (toolCall, error) {
	out := toolCall{id: newID("call_"), name: c.Name}
	args := c.Args
	if c.Does != "" {
		tool, err := find(c, t)
		if err != nil && c.Does == Write {
			c = asCommand(c)
			tool, err = find(c, t)
		}
		if err != nil {
			return toolCall{}, err
		}
		out.name, out.custom, out.namespace = tool.Name, tool.custom, tool.namespace
		if tool.custom {
			out.args = patch(c)
			return out, nil
		}
		args = arguments(c, tool, t)
	} else if i := slices.IndexFunc(t.Tools, func(tool Tool) bool { return tool.Name == c.Name }); i >= 0 {
		out.custom, out.namespace = t.Tools[i].custom, t.Tools[i].namespace
	}
	if args == nil {
		args = map[string]any{}
	}
	out.args = mustJSON(args)
	if c.Raw != "" {
		out.args = c.Raw
	}
	return out, nil
}

// asCommand turns a call that writes a file into a call of a command that writes the file. It is
// for agent CLIs that have no tool to write files.
func asCommand(c Call) Call {
	quote := func(v any) string { return "'" + strings.ReplaceAll(str(v), "'", `'\''`) + "'" }
	command := "printf %s " + quote(c.Args["content"]) + " > " + quote(c.Args["path"])
	return Call{Does: Run, Args: map[string]any{"command": command}}
}

// patch returns a patch that creates a file. All tools that take plain text accept
// patches in this form.
func patch(c Call) string {
	lines := strings.TrimSuffix(str(c.Args["content"]), "\n")
	return "*** Begin Patch\n*** Add File: " + str(c.Args["path"]) + "\n+" + strings.ReplaceAll(lines, "\n", "\n+") +
		"\n*** End Patch\n"
}

// find returns the offered tool that has the purpose of the call c.
func find(c Call, t Turn) (Tool, error) {
	names := map[Purpose][]string{Write: writeTools, Run: runTools, Ask: askTools}[c.Does]
	if c.Does == MCP {
		return findMCP(str(c.Args["tool"]), t)
	}
	for _, name := range names {
		for _, tool := range t.Tools {
			if strings.ToLower(tool.Name) == name {
				return tool, nil
			}
		}
	}
	return Tool{}, fmt.Errorf("none of the %d tools offered serves to %s", len(t.Tools), c.Does)
}

// findMCP returns the MCP tool whose name ends with the given name. Some agent CLIs do not list
// their MCP tools in the request. They only mention mcp__server__tool in a text, and accept calls
// of this tool.
func findMCP(name string, t Turn) (Tool, error) {
	for _, tool := range t.Tools {
		if tool.Name == name || strings.HasSuffix(tool.Name, "_"+name) || strings.HasSuffix(tool.Name, "-"+name) {
			return tool, nil
		}
	}
	if strings.HasPrefix(name, "mcp__") {
		return Tool{Name: name}, nil
	}
	mention := regexp.MustCompile(`\bmcp__[A-Za-z0-9_-]*__` + regexp.QuoteMeta(name) + `\b`)
	if full := mention.FindString(t.System + "\n" + t.added); full != "" {
		return Tool{Name: full}, nil
	}
	return Tool{}, fmt.Errorf("no MCP tool whose name ends in %q is offered or mentioned", name)
}

// arguments returns the arguments for a call of a tool. It uses sample values for required
// arguments that the call does not contain.
func arguments(c Call, tool Tool, t Turn) map[string]any {
	props := tool.schema.Properties
	args := map[string]any{}
	switch c.Does {
	case Write:
		args[argument(props, pathArgs)] = absolute(str(c.Args["path"]), t.Folder)
		args[argument(props, contentArgs)] = str(c.Args["content"])
	case Run:
		name := argument(props, commandArgs)
		args[name] = c.Args["command"]
		if props[name].is("array") {
			args[name] = []any{c.Args["command"]}
		}
		if _, sandboxed := props["sandbox_permissions"]; sandboxed {
			args["sandbox_permissions"], args["justification"] = "require_escalated",
				"May it run outside of the sandbox?"
		}
	case Ask:
		args = question(c, tool.schema)
	case MCP:
		args[textArgument(props)] = str(c.Args["text"])
	}
	for _, name := range tool.schema.Required {
		if _, set := args[name]; !set {
			args[name] = props[name].sample()
		}
	}
	return args
}

// argument returns the name that a tool uses for an argument. `names` contains the possible names in lower
// case. If the tool uses none of them, argument returns the first one.
func argument(props map[string]schema, names []string) string {
	for _, want := range names {
		for name := range props {
			if strings.ToLower(name) == want {
				return name
			}
		}
	}
	return names[0]
}

// textArgument returns the name of a text argument: "text" if the tool has such an argument, and
// otherwise the first string argument in alphabetical order.
func textArgument(props map[string]schema) string {
	if _, ok := props["text"]; ok || len(props) == 0 {
		return "text"
	}
	var names []string
	for name, p := range props {
		if p.is("string") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return append(names, "text")[0]
}

// question returns the arguments for a question tool. Most question tools take a list of questions,
// whose options have labels. Others take a single question, whose options are strings.
func question(c Call, s schema) map[string]any {
	if _, ok := s.Properties["question"]; ok {
		return map[string]any{"question": c.Args["question"], "options": c.Args["options"]}
	}
	one := schema{}
	if items := s.Properties["questions"].Items; items != nil {
		one = *items
	}
	more, _ := c.Args["more"].([]any)
	questions := []any{}
	for _, asked := range append([]any{c.Args}, more...) {
		if args, ok := asked.(map[string]any); ok {
			questions = append(questions, questionList(args, one))
		}
	}
	return map[string]any{"questions": questions}
}

// questionList returns a question for a tool that takes a list of questions. It adds a sample value
// for each further field that the schema of a question requires.
func questionList(args map[string]any, want schema) map[string]any {
	q := map[string]any{"question": str(args["question"]), "header": "Question"}
	list, _ := args["options"].([]any)
	options := []any{}
	for _, o := range list {
		options = append(options, map[string]any{"label": str(o), "description": "choose " + str(o)})
	}
	q["options"] = options
	for _, name := range want.Required {
		if _, set := q[name]; !set {
			q[name] = want.Properties[name].sample()
		}
	}
	return q
}

func (s schema) is(kind string) bool {
	if list, ok := s.Type.([]any); ok {
		return slices.Contains(list, any(kind))
	}
	return s.Type == kind
}

// sample returns a value that the schema s allows.
func (s schema) sample() any {
	switch {
	case len(s.Enum) > 0:
		return s.Enum[0]
	case s.is("null"):
		return nil
	case s.is("boolean"):
		return false
	case s.is("integer"), s.is("number"):
		return 1
	case s.is("array"):
		return []any{}
	case s.is("object"), s.is("OBJECT"):
		object := map[string]any{}
		for _, name := range s.Required {
			object[name] = s.Properties[name].sample()
		}
		return object
	}
	return "scripted"
}

func absolute(name, folder string) string {
	if path.IsAbs(name) || folder == "" {
		return name
	}
	return path.Join(folder, name)
}

func str(v any) string {
	s, _ := v.(string)
	return s
}

// newID returns a random id. An id must never be used twice, even after a restart of the server.
// Agent CLIs save the ids in their conversations, which they can resume after the restart.
func newID(prefix string) string {
	var b [10]byte
	_, _ = rand.Read(b[:]) // never fails
	return prefix + hex.EncodeToString(b[:])
}
