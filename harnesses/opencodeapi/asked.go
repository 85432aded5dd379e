package opencodeapi

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"

	"coleo.dev"
)

var _ coleo.ToolAsker = (*Session)(nil)

// commandShell describes the shell that runs commands (1.18.33). It is the program that the variable SHELL
// names, unless the user's settings name another shell.
var commandShell = coleo.ShellRule{Env: []string{"SHELL"}, Names: []string{"bash", "zsh", "sh", "dash"}}

// toolInputs describes what a policy must know about a tool.
type toolInputs struct {
	category string
	command  string   // name of the input that is a command line
	folder   string   // name of the input that is the folder of the command
	file     string   // name of the input that is the path of a file
	free     []string // names of inputs that do not matter to a policy
}

// judgedTools are the tools for which a policy decides (1.18.33). The tools grep and glob have no `file`,
// because they read whole folders.
var judgedTools = map[string]toolInputs{
	"bash": {category: "execute", command: "command", folder: "workdir", free: []string{"description", "timeout"}},
	"read": {category: "read", file: "filePath", free: []string{"offset", "limit"}},
	"grep": {category: "read", free: []string{"pattern", "path", "include"}}, "glob": {category: "read",
		free: []string{"pattern", "path"}},
	"write":       {category: "edit", file: "filePath", free: []string{"content"}},
	"edit":        {category: "edit", file: "filePath", free: []string{"oldString", "newString", "replaceAll"}},
	"apply_patch": {category: "edit", free: []string{"patchText"}},
	"webfetch":    {category: "network", free: []string{"url", "format", "timeout"}},
	"websearch": {category: "network", free: []string{"query", "numResults", "livecrawl", "type",
		"contextMaxCharacters"}},
	"task":  {category: "other", free: []string{"description", "prompt", "subagent_type"}},
	"skill": {category: "other", free: []string{"name"}},
}

// callOf identifies the tool call for which the server asks permission.
type callOf struct {
	Session    string
	Permission string
	MessageID  string `json:"messageID"`
	CallID     string `json:"callID"`
}

// AskedTool implements coleo.ToolAsker. The dialog on the screen asks permission for a tool call, and the
// server knows this call with all its inputs. So AskedTool asks the server for the call.
func (s *Session) AskedTool(ctx context.Context, dialog coleo.Fingerprint) (coleo.ToolRequest, error) {
	open, ok := s.open(dialog)
	srv, err := s.readyServer()
	switch {
	case err != nil:
		return coleo.ToolRequest{}, err
	case !ok:
		return coleo.ToolRequest{}, coleo.Errorf(coleo.EStale, "that dialog is no longer open")
	case open.question || open.call.CallID == "":
		return coleo.ToolRequest{}, coleo.Errorf(coleo.EUnsupported, "the dialog does not ask about the call of a tool")
	}
	name, input, err := srv.call(ctx, open.call)
	if err != nil {
		return coleo.ToolRequest{}, coleo.Errorf(coleo.EUnsupported, "the call of the dialog is not known: %v", err)
	}
	q, err := srv.requestOf(open.call.Permission, name, input)
	if err == nil && q.Command != "" {
		err = srv.noOwnShell(ctx)
	}
	return q, err
}

// call returns the name and the inputs of a call.
func (s *server) call(ctx context.Context, c callOf) (name string, input map[string]any, err error) {
	var message struct {
		Parts []struct {
			CallID string `json:"callID"`
			Tool   string `json:"tool"`
			State  struct {
				Input map[string]any `json:"input"`
			} `json:"state"`
		} `json:"parts"`
	}
	path := "/session/" + url.PathEscape(c.Session) + "/message/" + url.PathEscape(c.MessageID)
	if err := s.do(ctx, http.MethodGet, path, nil, &message); err != nil {
		return "", nil, err
	}
	for _, p := range message.Parts {
		if p.CallID == c.CallID {
			return p.Tool, p.State.Input, nil
		}
	}
	return "", nil, coleo.Errorf(coleo.ENotFound, "its message has no such call")
}

// requestOf returns a call in the form that a policy judges. `permission` is the permission that OpenCode
// asks for. If `permission` is the name of a tool that judgedTools does not list, the tool counts as a tool
// of an MCP server. requestOf returns EUnsupported if Coleo does not know the whole call, for example one of
// its inputs.
func (s *server) requestOf(permission, name string, input map[string]any) (coleo.ToolRequest, error) {
	q := coleo.ToolRequest{Tool: name, Folder: s.dir, Shell: commandShell}
	t, known := judgedTools[name]
	switch {
	case permission == "doom_loop":
		return q, coleo.Errorf(coleo.EUnsupported, "the agent CLI asks because the model repeats itself")
	case !known && permission == name:
		q.Category = "mcp"
		return q, nil
	case !known:
		return q, coleo.Errorf(coleo.EUnsupported, "the tool %q is not known", name)
	}
	q.Category = t.category
	for key, value := range input {
		text, isText := value.(string)
		switch {
		case slices.Contains(t.free, key):
		case key == "" || !isText:
			return q, coleo.Errorf(coleo.EUnsupported, "the call of %s has an input that is not known: %q", name, key)
		case key == t.command:
			q.Command = text
		case key == t.file:
			q.Files = []string{text}
		case key == t.folder && filepath.IsAbs(text):
			q.Folder = text
		default:
			return q, coleo.Errorf(coleo.EUnsupported, "the call of %s has an input that is not known: %q", name, key)
		}
	}
	if t.command != "" && q.Command == "" || t.file != "" && len(q.Files) == 0 {
		return q, coleo.Errorf(coleo.EUnsupported, "the call of %s has no command or no file", name)
	}
	return q, nil
}

// noOwnShell returns EUnsupported if the user's settings name a shell for commands.
func (s *server) noOwnShell(ctx context.Context) error {
	var settings struct {
		Shell json.RawMessage `json:"shell"`
	}
	if err := s.do(ctx, http.MethodGet, "/config", nil, &settings); err != nil {
		return coleo.Errorf(coleo.EUnsupported, "the settings of the agent CLI are not known: %v", err)
	}
	if len(settings.Shell) > 0 {
		return coleo.Errorf(coleo.EUnsupported, "the settings of the agent CLI name a shell for commands")
	}
	return nil
}
