package launch

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"coleo.dev"
	"coleo.dev/armenv"
	"coleo.dev/config"
	"coleo.dev/harnesses/terminal/rules"
	"coleo.dev/holder"
)

// launchFacts contains the values that the templates of a Part can use.
type launchFacts struct {
	Workdir, Home, Endpoint, Provider, Model string
	Permission                               string // the agent CLI's own word for the permission mode
	Conversation                             string
	Fork                                     string // the conversation to copy; "" if none
	// Account is the path of a file in which the agent CLI can record the tokens that it uses. The
	// file is in the folder of this start.
	Account                        string
	Resume, Hermetic, TrustWorkdir bool
	Sandboxed                      bool // the agent CLI runs in a sandbox
	MCPServers                     []coleo.MCPServer
	AllowedTools                   []allowedTool // the allowed tools of all servers
	Hook                           *hookFacts    // the values for the hook; nil if there is no hook
}

// Plan turns a configuration into the Launch that the holder runs. It sets the defaults in c. If the
// arm has a hermetic HOME, a HOME of its own, Plan also writes the first files there. The parameter
// `hookCommand` is the command line of the hook program, or nil. Plan returns one of these errors:
//
//   - EInvalid if the configuration is wrong
//   - EUnsupported if the agent CLI cannot do what the configuration asks
//   - ENotInstalled if the agent CLI's program is missing
func Plan(s *rules.Spec, c *coleo.SpawnConfig, hookCommand []string) (holder.Launch, error) {
	if err := prepare(s, c); err != nil {
		return holder.Launch{}, err
	}
	binary, err := findBinary(s, c)
	if err != nil {
		return holder.Launch{}, err
	}
	facts, err := factsOf(s, c)
	if err != nil {
		return holder.Launch{}, err
	}
	facts.Hook = hookFor(s, c, hookCommand)
	env := environment(c, s.Launch.CredentialsEnv)
	own, files := map[string]string{}, map[string]string{}
	argv := append(slices.Clone(c.Wrap), binary)
	for _, p := range s.Launch.Parts {
		if err := applyPart(p, facts, &argv, own, files); err != nil {
			return holder.Launch{}, fmt.Errorf("launch of %s: %w", s.Name, err)
		}
	}
	if err := seedHome(facts, files); err != nil {
		return holder.Launch{}, err
	}
	if err := checkReached(s, c, argv, own, files); err != nil {
		return holder.Launch{}, err
	}
	maps.Copy(env, own)
	argv = append(argv, c.Args...)
	for _, option := range s.Launch.Join {
		if argv, err = joinOption(argv, option, c.Workdir); err != nil {
			return holder.Launch{}, err
		}
	}
	if err := addVariables(s, env, own, c.Env); err != nil {
		return holder.Launch{}, err
	}
	if err := refuseSettings(s, c, argv, env); err != nil {
		return holder.Launch{}, err
	}
	if err := trustWorkdir(&s.Launch.Trust, c, facts); err != nil {
		return holder.Launch{}, err
	}
	if argv, err = addSandbox(s, c, hookCommand, argv, env); err != nil {
		return holder.Launch{}, err
	}
	return holder.Launch{
		Arm: c.Arm, Generation: c.Generation, Nonce: c.Nonce, Dir: c.Dir,
		Argv: argv, Env: flatten(env), Workdir: c.Workdir, Cols: c.Cols, Rows: c.Rows, Keep: c.Keep,
		AllowSudo:   c.AllowSudo,
		After:       cleanCommand(c, hookCommand),
		NeedsPermit: c.OnPartition == coleo.PartitionFreeze,
	}, nil
}

// checkReached returns EUnsupported if the agent CLI would not learn of the MCP server with Coleo's own
// tools. Some agent CLIs read their MCP servers only from a file. Coleo writes this file only into a
// hermetic HOME, a HOME of the arm's own.
func checkReached(s *rules.Spec, c *coleo.SpawnConfig, argv []string, env, files map[string]string) error {
	texts := append(slices.Collect(maps.Values(env)), argv...)
	if c.Profile == coleo.ProfileHermetic {
		texts = slices.AppendSeq(texts, maps.Values(files))
	}
	for _, m := range c.MCPServers {
		quoted, _ := json.Marshal(m.Command) // a string can always be encoded
		namesServer := func(text string) bool { return strings.Contains(text, strings.Trim(string(quoted), `"`)) }
		if len(m.Allowed) > 0 && !slices.ContainsFunc(texts, namesServer) {
			return coleo.Errorf(coleo.EUnsupported,
				"%s learns of Coleo's tools only in the hermetic profile: choose that, or add --no-tools", s.Title)
		}
	}
	return nil
}

// addVariables adds the user's own variables to env. It refuses a variable that the harness sets
// itself, because the agent CLI must run with the harness's value under Coleo.
func addVariables(s *rules.Spec, env, own, given map[string]string) error {
	for _, name := range armenv.Names(given) {
		if _, taken := own[name]; taken {
			return coleo.Errorf(coleo.EInvalid,
				"the environment variable %s cannot be given to this arm: the harness %s sets it itself", name, s.Name)
		}
		env[name] = given[name]
	}
	return nil
}

// prepare sets the defaults in c. It returns an error for a configuration that Coleo cannot use.
func prepare(s *rules.Spec, c *coleo.SpawnConfig) error {
	info, err := os.Stat(c.Workdir)
	if err != nil || !info.IsDir() || !filepath.IsAbs(c.Workdir) {
		return coleo.Errorf(coleo.EInvalid, "the work folder %q does not exist: create it, or name another folder", c.Workdir)
	}
	if c.Arm == "" || c.Dir == "" || c.Nonce == "" {
		return coleo.Errorf(coleo.EInvalid, "a spawn needs an arm, a folder and a nonce")
	}
	if c.Profile == "" {
		c.Profile = coleo.ProfileUser
	}
	if c.Profile == coleo.ProfileHermetic && c.Home == "" {
		return coleo.Errorf(coleo.EInvalid, "the hermetic profile needs a HOME of its own")
	}
	if c.PermissionMode == "" {
		c.PermissionMode = coleo.PermissionAsk
	}
	if len(c.MCPServers) > 0 && !s.Capabilities.MCP {
		return coleo.Errorf(coleo.EUnsupported, "%s does not support MCP servers", s.Title)
	}
	if c.Resume && !s.Capabilities.Resume {
		return coleo.Errorf(coleo.EUnsupported, "%s cannot continue an earlier conversation", s.Title)
	}
	if c.Fork != "" && !s.Launch.Fork {
		return coleo.Errorf(coleo.EUnsupported,
			"%s cannot copy a conversation when it starts: 'coleo thread resume' continues the conversation itself", s.Title)
	}
	if c.Cols == 0 {
		c.Cols = 120
	}
	if c.Rows == 0 {
		c.Rows = 40
	}
	return nil
}

func factsOf(s *rules.Spec, c *coleo.SpawnConfig) (launchFacts, error) {
	permission, ok := s.Launch.Permission[string(c.PermissionMode)]
	if !ok {
		return launchFacts{}, coleo.Errorf(coleo.EUnsupported,
			"%s has no permission mode %q: its description names none in [launch.permission]", s.Title,
			c.PermissionMode)
	}
	if s.Launch.NewID && c.Conversation == "" {
		c.Conversation, c.Resume = coleo.NewUUID(), false
	}
	return launchFacts{
		Workdir: c.Workdir, Home: Home(c), Endpoint: strings.TrimSuffix(c.Endpoint, "/"),
		Provider: c.Provider, Model: c.Model, Permission: permission, Conversation: c.Conversation, Fork: c.Fork,
		Account: AccountPath(c.Dir),
		Resume:  c.Resume, Hermetic: c.Profile == coleo.ProfileHermetic, TrustWorkdir: c.TrustWorkdir,
		Sandboxed: c.Sandbox.On(), MCPServers: c.MCPServers, AllowedTools: allowedTools(c.MCPServers),
	}, nil
}

// allowedTool is a tool of an MCP server that the agent CLI may call without asking.
type allowedTool struct{ Server, Tool string }

func allowedTools(servers []coleo.MCPServer) (out []allowedTool) {
	for _, m := range servers {
		for _, tool := range m.Allowed {
			out = append(out, allowedTool{m.Name, tool})
		}
	}
	return out
}

// AccountPath returns the path of the file in which an agent CLI can record the tokens that it uses.
func AccountPath(dir string) string { return filepath.Join(dir, "account.jsonl") }

// Home returns the HOME that the agent CLI will see.
func Home(c *coleo.SpawnConfig) string {
	if c.Profile == coleo.ProfileHermetic {
		return c.Home
	}
	return lookupEnv(c.Environ, "HOME")
}

// findBinary returns the path of the agent CLI. For a container, it returns c.Binary or else the
// program's name, which is looked up in the PATH of the container's image.
func findBinary(s *rules.Spec, c *coleo.SpawnConfig) (string, error) {
	if c.Sandbox.Container() {
		return cmp.Or(c.Binary, s.Command), nil
	}
	if c.Binary != "" {
		if executable(c.Binary) {
			return c.Binary, nil
		}
		return "", coleo.Errorf(coleo.ENotInstalled, "%s is not at %s", s.Title, c.Binary)
	}
	for _, dir := range append(slices.Clone(c.Path), filepath.SplitList(lookupEnv(c.Environ, "PATH"))...) {
		if path := filepath.Join(dir, s.Command); filepath.IsAbs(path) && executable(path) {
			return path, nil
		}
	}
	return "", coleo.Errorf(coleo.ENotInstalled, "%s is not installed: no program %q in PATH; install it with: %s",
		s.Title, s.Command, s.Install)
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// applyPart adds a part to the command line, the environment and the files of HOME if the part's condition
// is true.
func applyPart(p rules.Part, facts launchFacts, argv *[]string, env, files map[string]string) error {
	if on, err := rules.Render(p.If, facts); err != nil || p.If != "" && (on == "" || on == "false") {
		return err
	}
	for _, arg := range p.Args {
		text, err := rules.Render(arg, facts)
		if err != nil {
			return err
		}
		*argv = append(*argv, text)
	}
	for name, value := range p.Env {
		text, err := rules.Render(value, facts)
		if err != nil {
			return err
		}
		env[name] = text
	}
	for path, content := range p.Files {
		text, err := rules.Render(content, facts)
		if err != nil {
			return err
		}
		if old, ok := files[path]; ok {
			if text, err = mergedFile(path, old, text); err != nil {
				return err
			}
		}
		files[path] = text
	}
	return nil
}

// mergedFile returns the text of a file that two parts of the launch write. It merges JSON objects and
// TOML tables with the function join. In any other file, it puts the text of the later part above the
// text of the earlier part. In the opposite order, keys of the later part could belong to the last
// section of the earlier part.
func mergedFile(path, old, text string) (string, error) {
	var out string
	var err error
	switch filepath.Ext(path) {
	case ".json":
		out, err = mergedJSON(old, text)
	case ".toml":
		out, err = mergedTOML(old, text)
	default:
		return text + "\n" + old, nil
	}
	if err != nil {
		return "", fmt.Errorf("merge %s: %w", path, err)
	}
	return out, nil
}

func mergedJSON(old, text string) (string, error) {
	whole, err := jsonTable(old, "")
	if err != nil {
		return "", err
	}
	more, err := jsonTable(text, "")
	if err != nil {
		return "", err
	}
	out, err := json.Marshal(join(whole, more))
	return string(out), err
}

func mergedTOML(old, text string) (string, error) {
	var whole, more map[string]any
	if err := config.Decode("the first part", []byte(old), &whole); err != nil {
		return "", err
	}
	if err := config.Decode("the second part", []byte(text), &more); err != nil {
		return "", err
	}
	if whole == nil {
		whole = map[string]any{}
	}
	out, err := config.Encode(join(whole, more))
	return string(out), err
}
