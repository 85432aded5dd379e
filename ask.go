package coleo

// Ask is one way to make an agent CLI ask its user a question. It is one entry of the
// catalogue of a harness: one `[[asks]]` table of a harness.toml. The conformance suite
// answers the question in each possible way, and checks what the agent CLI does after
// each answer.
//
// The texts of Tool, Input, Reply, Prompt, Work, Shows, Options, Writes and Result can
// contain `{{.Nonce}}`, `{{.Workdir}}` and `{{.Home}}`. The nonce is a new word for
// each answer. The page docs/harness-reference.md repeats the comments of the fields.
type Ask struct {
	// The name of the entry, for `coleo harness test --asks`. It consists of small
	// letters, digits, dots, dashes and underscores. The key is required.
	Name string `json:"name" toml:"name"`
	// One sentence for people about what makes the agent CLI ask. The key is required.
	Doc string `json:"doc" toml:"doc"`
	// The kind of the dialog, as in `[[dialog]]`. The key is required.
	Kind DialogKind `json:"kind" toml:"kind"`
	// The tool that the scripted model calls. The value is the agent CLI's own name for the tool. An
	// entry has exactly one of the keys `tool`, `reply`, `prompt`, `types` and `start`. Only `types`
	// can stand beside another of these keys.
	Tool string `json:"tool,omitempty" toml:"tool"`
	// The arguments of the tool, as a JSON object. If the tool takes plain text, the value is this
	// text.
	Input string `json:"input,omitempty" toml:"input"`
	// The tool calls that the model makes before the call of `tool`, one after another. They do not
	// make the agent CLI ask.
	Before []AskCall `json:"before,omitempty" toml:"before"`
	// If this key is `true`, the model makes the calls of `before` and the call of `tool` in one
	// answer.
	Together bool `json:"together,omitempty" toml:"together"`
	// The text with which the scripted model answers. Use this key for an agent CLI that reads
	// commands and edits from the text of the model.
	Reply string `json:"reply,omitempty" toml:"reply"`
	// A prompt that makes the agent CLI ask without a tool call of the model. If the entry has no
	// `result`, the checks do not require that the model receives the user's answer.
	Prompt string `json:"prompt,omitempty" toml:"prompt"`
	// A command of the agent CLI, such as `/model`, that is typed by hand first. If the entry has
	// none of the keys `tool`, `reply`, `prompt` and `start`, the command itself makes the agent
	// CLI ask. With one of these keys, the command is only a preparation, without which the agent
	// CLI would not ask.
	Types string `json:"types,omitempty" toml:"types"`
	// If this key is `true`, the agent CLI asks when it starts, before it takes a prompt.
	Start bool `json:"start,omitempty" toml:"start"`
	// The arguments with which the agent CLI is started. They are templates, as in
	// `[[launch.part]]`. If an entry has `args`, `env`, `files`, `permission`, `model`
	// or `types`, a new agent CLI is started for each answer.
	Args []string `json:"args,omitempty" toml:"args"`
	// The environment variables with which the agent CLI is started. The values are
	// templates.
	Env map[string]string `json:"env,omitempty" toml:"env"`
	// The files below HOME that are written before the agent CLI is started. The values are
	// templates. If a part of the launch writes the same file, Coleo combines the two texts as it
	// does for the key `files` of `[[setting]]`.
	Files map[string]string `json:"files,omitempty" toml:"files"`
	// Coleo's permission mode with which the agent CLI is started. The default is
	// `ask`.
	Permission PermissionMode `json:"permission,omitempty" toml:"permission"`
	// The model with which the agent CLI is started. The default is an invented name that is in no
	// agent CLI's own list of models.
	Model string `json:"model,omitempty" toml:"model"`
	// The files that are written into the work folder before the agent CLI asks.
	Work map[string]string `json:"work,omitempty" toml:"work"`
	// The text that the title or the subject of the dialog must contain. People base their decision
	// on this text.
	Shows string `json:"shows,omitempty" toml:"shows"`
	// A list of patterns. Each pattern must match the label of one option of the dialog.
	Options []string `json:"options,omitempty" toml:"options"`
	// The questions that the model asks, with the answers that it must receive. An entry has one table
	// `[[asks.page]]` for each question of the same tool call.
	Pages []AskPage `json:"page,omitempty" toml:"page"`
	// The file in the work folder that the approved action writes. Afterwards, it must contain the
	// nonce exactly once.
	Writes string `json:"writes,omitempty" toml:"writes"`
	// A pattern that the tool's result must match after the approved action has been carried out.
	// After a denial, the result must not match it. Without this key, any result is accepted. If the
	// dialog is a question, the checks look for this pattern instead of the labels in `page`. Some
	// tools report an answer in other words.
	Result string `json:"result,omitempty" toml:"result"`
	// If this key is `true`, the approved action calls the MCP server of the checks, with the
	// nonce.
	CallsMCP bool `json:"calls_mcp,omitempty" toml:"calls_mcp"`
	// If this key is `true`, the agent CLI takes no prompt after the user has denied the question that
	// it asks when it starts. The agent CLI then ends, or shows another page in place of its composer.
	Ends bool `json:"ends,omitempty" toml:"ends"`
	// If this key is `true`, the agent CLI ends after the user has approved the question that it asks
	// when it starts. When it is started again, it does not ask again.
	Restarts bool `json:"restarts,omitempty" toml:"restarts"`
	// The choices that Coleo refuses for this dialog. The value of each choice is a part of the error
	// message, as in `{approve = "leave it with a denial"}`. The choices are `approve`, `deny`,
	// `answer`, and `words` for an answer in the user's own words. The checks make each of these
	// choices, and Coleo must then type nothing.
	Refuses map[string]string `json:"refuses,omitempty" toml:"refuses"`
}

// RefusedWords is a key in Ask.Refuses. It means that Coleo refuses an answer in the user's own words.
const RefusedWords = "words"

// AskCall is a tool call that the scripted model makes.
type AskCall struct {
	// The agent CLI's own name for the tool.
	Tool string `json:"tool" toml:"tool"`
	// The arguments of the tool, as a JSON object.
	Input string `json:"input" toml:"input"`
}

// AskPage is one question that the model asks the user.
type AskPage struct {
	// The kind of the page's dialog, as in `[[dialog]]`. The first page always has the kind of the
	// entry. A later page without this key also has the kind of the entry.
	Kind DialogKind `json:"kind,omitempty" toml:"kind"`
	// The labels of the options. The checks choose each option once. Each time, the model must
	// receive the label of the chosen option, and no other label.
	Answers []string `json:"answers" toml:"answers"`
	// If this key is `true`, several options can be ticked. The checks then also tick all options
	// in one answer.
	Several bool `json:"several,omitempty" toml:"several"`
	// If this key is `true`, the answer can be a text of the user's own. The model must receive
	// this text.
	Words bool `json:"words,omitempty" toml:"words"`
}

// OwnStart reports whether the checks must start an agent CLI that is used only for this entry.
func (a Ask) OwnStart() bool {
	return a.Start || len(a.Args)+len(a.Env)+len(a.Files) > 0 || a.Permission != "" || a.Model != "" || a.Types != ""
}

// OnlyTyped reports whether the dialog opens as soon as a.Types has been typed, so that the model
// has no part in it.
func (a Ask) OnlyTyped() bool {
	return a.Types != "" && a.Tool == "" && a.Reply == "" && a.Prompt == "" && !a.Start
}

// AskCatalogue is a harness with a catalogue of the ways in which its agent CLI asks its user a
// question.
type AskCatalogue interface {
	// Asks returns the catalogue, in the order of the harness's description.
	Asks() []Ask
	// QuietTools returns the tools that never ask. Each key is the name of a tool. Each value
	// contains the arguments with which the checks call the tool. If a value is empty, the checks
	// do not call the tool.
	QuietTools() map[string]string
	// WithAsk returns a copy of the harness for one entry of the catalogue. In the hermetic profile,
	// the copy starts its agent CLI with the settings of the entry, such as its arguments and files.
	// WithAsk returns ENotFound if the catalogue has no such entry.
	WithAsk(name string) (Harness, error)
}
