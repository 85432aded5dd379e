package coleo

// Ask is one thing that makes an agent CLI ask its user. It is a line of the catalogue of a
// harness, `[[asks]]` of a harness.toml. The conformance suite answers the dialog in each
// way, and looks at what was done then.
//
// The texts of Tool, Input, Reply, Prompt, Work, Shows, Options, Writes and Result may
// hold `{{.Nonce}}`, `{{.Workdir}}` and `{{.Home}}`. The nonce is another word for each
// answer. The page docs/harness-reference.md repeats the comments of the fields.
type Ask struct {
	// The name, as `coleo harness test --asks` takes it. It consists of small letters,
	// digits, dots, dashes and underscores. The key is required.
	Name string `json:"name" toml:"name"`
	// One sentence that tells people what asks. The key is required.
	Doc string `json:"doc" toml:"doc"`
	// The kind of the dialog, as in `[[dialog]]`. The key is required.
	Kind DialogKind `json:"kind" toml:"kind"`
	// The tool that the scripted model calls, by the name that the agent CLI gives it. A
	// line has one of `tool`, `reply`, `prompt`, `types` and `start`. Only `types` may be
	// beside another one.
	Tool string `json:"tool,omitempty" toml:"tool"`
	// The tool's arguments, as a JSON object. A tool that takes plain text gets the text as
	// it is.
	Input string `json:"input,omitempty" toml:"input"`
	// The calls of tools that the model makes first, one after another. They do not ask.
	Before []AskCall `json:"before,omitempty" toml:"before"`
	// Whether the model makes the calls of `before` and the one of `tool` in one answer.
	Together bool `json:"together,omitempty" toml:"together"`
	// The text that the scripted model answers, for an agent CLI that reads commands and
	// edits from the model's text.
	Reply string `json:"reply,omitempty" toml:"reply"`
	// The prompt of the user that makes the agent CLI ask by itself.
	Prompt string `json:"prompt,omitempty" toml:"prompt"`
	// A command of the agent CLI that somebody types by hand first, such as `/model`. It
	// asks by itself, or makes the tool, the reply or the prompt ask.
	Types string `json:"types,omitempty" toml:"types"`
	// Whether the agent CLI asks at its start, before it takes a prompt.
	Start bool `json:"start,omitempty" toml:"start"`
	// The arguments with which the agent CLI is started. They are templates, as in
	// `[[launch.part]]`. With `args`, `env`, `files`, `permission`, `model` or `types`, each
	// answer gets an agent CLI of its own.
	Args []string `json:"args,omitempty" toml:"args"`
	// The environment variables with which the agent CLI is started. The values are
	// templates.
	Env map[string]string `json:"env,omitempty" toml:"env"`
	// The files below HOME that are written before the start. The values are templates. If
	// a part of the launch writes the same file, Coleo writes both texts, as for a setting.
	Files map[string]string `json:"files,omitempty" toml:"files"`
	// Coleo's permission mode at the start. Without it, the mode is `ask`.
	Permission PermissionMode `json:"permission,omitempty" toml:"permission"`
	// The model at the start. Without it, the model is one that no agent CLI knows.
	Model string `json:"model,omitempty" toml:"model"`
	// The files in the work folder that are written before the agent CLI is asked.
	Work map[string]string `json:"work,omitempty" toml:"work"`
	// What the title or the subject of the dialog must hold. People decide by it.
	Shows string `json:"shows,omitempty" toml:"shows"`
	// Patterns, each of which must match the label of one option.
	Options []string `json:"options,omitempty" toml:"options"`
	// A question of the model, with the answers that it must get. A line has one for each
	// question that the tool asks at once.
	Pages []AskPage `json:"page,omitempty" toml:"page"`
	// The file in the work folder that holds the nonce once the approval has been carried
	// out, and exactly once.
	Writes string `json:"writes,omitempty" toml:"writes"`
	// A pattern that the tool's result matches once the approval has been carried out.
	// Without it, any result counts. After a denial, no result may match it. At a question it
	// takes the place of the labels, for a tool that tells the answer in other words.
	Result string `json:"result,omitempty" toml:"result"`
	// Whether the approval calls the MCP server of the checks, with the nonce.
	CallsMCP bool `json:"calls_mcp,omitempty" toml:"calls_mcp"`
	// Whether the agent CLI takes no prompt when it is denied what it asks at its start.
	// It ends then, or shows another page in place of its composer.
	Ends bool `json:"ends,omitempty" toml:"ends"`
	// Whether the agent CLI ends when it is approved what it asks at its start. When it is
	// started again, it no longer asks.
	Restarts bool `json:"restarts,omitempty" toml:"restarts"`
	// The choices that Coleo refuses at this dialog, each with a part of the sentence of
	// its error: `{ approve = "leave it with a denial" }`. The choices are `approve`,
	// `deny` and `answer`, and `words` for a text of the user's own. Nothing may be typed
	// then.
	Refuses map[string]string `json:"refuses,omitempty" toml:"refuses"`
}

// RefusedWords is the key of Ask.Refuses for a text of the user's own.
const RefusedWords = "words"

// AskCall is a call of a tool by the scripted model.
type AskCall struct {
	// The tool, by the name that the agent CLI gives it.
	Tool string `json:"tool" toml:"tool"`
	// The tool's arguments, as a JSON object.
	Input string `json:"input" toml:"input"`
}

// AskPage is one question of a model.
type AskPage struct {
	// The labels of the options. Each one is picked once, and the model must get it, and
	// none of the others.
	Answers []string `json:"answers" toml:"answers"`
	// Whether several options can be ticked. All of them are, once.
	Several bool `json:"several,omitempty" toml:"several"`
	// Whether a text of the user's own can be the answer. The model must get it.
	Words bool `json:"words,omitempty" toml:"words"`
}

// OwnStart reports whether the agent CLI must be started in a way of its own.
func (a Ask) OwnStart() bool {
	return a.Start || len(a.Args)+len(a.Env)+len(a.Files) > 0 || a.Permission != "" || a.Model != "" || a.Types != ""
}

// OnlyTyped reports whether typing a.Types by hand is enough to open the dialog. The model
// then does nothing for it.
func (a Ask) OnlyTyped() bool {
	return a.Types != "" && a.Tool == "" && a.Reply == "" && a.Prompt == "" && !a.Start
}

// Asking is a harness with a catalogue of what its agent CLI asks.
type Asking interface {
	// Asks returns the catalogue, in the order of the description.
	Asks() []Ask
	// QuietTools returns the tools that never ask. A key is the name of a tool. Its value
	// has the arguments with which the checks call the tool. If the value is empty, the
	// checks do not call it.
	QuietTools() map[string]string
	// WithAsk returns a copy of the harness for one line of the catalogue. In the hermetic
	// profile, the agent CLI of the copy starts as that line says. WithAsk returns
	// ENotFound if the catalogue has no such line.
	WithAsk(name string) (Harness, error)
}
