package arm

import (
	"bufio"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/api"
	"coleo.dev/cmd/coleo/budget"
	"coleo.dev/cmd/coleo/model"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/template"
	"coleo.dev/cmd/coleo/verb"
	"coleo.dev/window"
	"coleo.dev/wire"
)

// spawnFlags are the flags of arm spawn.
type spawnFlags struct {
	q        wire.SpawnRequest
	mcp      []string
	labels   []string // KEY=VALUE
	env      []string // NAME=VALUE or NAME
	envFiles []string
	script   string // file with the script of the scripted model
	timeout  time.Duration
	noWait   bool
	local    bool
	terminal string // terminal program in which a window is opened
	headless bool
	tools    string // Coleo's own tools, with commas
	schema   string // file with the schema of the memo
	worktree string // branch of the worktree, or newBranch
	base     string // where a new branch begins
	noTree   bool   // no worktree
	noSetup  bool   // leave the project's set-up script out
	sandbox  coleo.Sandbox
	template template.Wish
	budget   budget.Flags
}

const spawnHelp = `Start an arm: one agent CLI in one work folder, with a name. Coleo first starts
serve and the host agent if they do not run. This returns when the arm takes
prompts or asks something. If NAME is a stopped arm, that arm is started again.

Without any flag, on a terminal, this asks for the harness, the name, the folder
and the model.

Coleo does not change the agent CLI's own files, except with --trust-workdir.
That flag sets one value in such a file if there is no other way.

--model scripted starts a program that answers in place of a model, without key
and network. --script says what it answers: see docs/scripted-model.md.

--template NAME takes what the other flags leave out from a template, for a new arm:
see 'coleo template list' and docs/templates.md. --arg NAME=VALUE is an argument of
its prompt.

--fallback says what happens if the model is not available:
  any         another model is used, so that the arm always starts (default)
  same-price  another model with the same prices, if there is one
  cheaper     another model that costs no more, if there is one
  none        nothing is started
The first line of the output names both models with their prices.

--permission-mode says what the agent CLI may do:
  ask     it asks before each edit and each command (default)
  edit    it makes edits, and asks before each command
  plan    it changes nothing
  all     it makes edits and runs commands, and never asks

--profile user (default) uses your HOME and your logins. --profile hermetic
uses the HOME of --home, a fake key and the model server of --endpoint.

-e NAME=VALUE sets a variable for the agent CLI, and -e NAME passes on yours. A
line of an --env-file is NAME=VALUE or NAME. -e takes precedence. Nothing shows
the values again.

--tools all gives the model Coleo's own tools: it can ask you, keep tasks and
claim files ('coleo arm questions', 'coleo arm todos'). --no-tools takes them
away. Without either, arm_tools in config.toml decides.

-t shows the arm in a window. Without --harness, it selects a harness whose agent
CLI has a window of its own. The arm of any other harness is shown as by 'coleo
arm open'.

--policy says what answers the arm's approval dialogs:
  off     a person (default)
  shadow  a person; 'coleo arm events' shows what read would have answered
  read    the policy approves what only reads files of the work folder, and does
          what your rules say; a person answers the rest: see docs/security.md

--worktree gives the arm a git worktree and a branch of its own, below Coleo's state
folder or where [workspace] in config.toml says. The branch is named for the arm.
--worktree=BRANCH names one, also one that exists. --base says where a new branch
begins; without it, that is what is checked out in the folder. 'coleo arm remove'
removes the worktree again, and never loses work. If the project has a script
.coleo/setup, it runs in the new worktree, once you trust it ('coleo workspace
trust'). --no-setup leaves it out.

--sandbox bwrap runs the agent CLI in a sandbox (Linux, with bubblewrap). It writes
in the work folder and in its own folder of HOME, and sees nothing else of HOME.
--sandbox-net none also takes the network away. A stopped arm keeps its sandbox,
unless you say --sandbox none: see docs/security.md.

--on-limit says what happens when the arm meets a limit of its model, such as a
used-up quota. With wait (default), the arm is parked until the limit has
passed, and then goes on once by itself, with the prompt of --continue-with.
With ask, it is parked until you prompt it. A login that has expired and a
conversation that is too long always wait for you.

--budget says how much the arm's model may cost, in US dollars, and --budget-policy
what happens then: see 'coleo arm budget'.

--on-partition says what happens while serve cannot reach the arm's host. With
run (default), the arm may still be typed into. With freeze, it takes no keys.`

func newSpawnCommand() *cobra.Command {
	var f spawnFlags
	c := &cobra.Command{
		Use:   "spawn",
		Short: "Start an arm",
		Long:  spawnHelp,
		Example: `  coleo arm spawn -n fix --harness HARNESS -w ~/src/project
  coleo arm spawn -n fix --harness HARNESS -w ~/src/project --worktree
  coleo arm spawn -n try --harness HARNESS --model scripted
  coleo arm spawn --template review --arg branch=topic`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 1 && c.Flags().Changed("worktree") && f.worktree == newBranch {
				f.worktree = args[0] // --worktree BRANCH
				return nil
			}
			return verb.Exactly(0, "no arguments: name the arm with -n")(c, args)
		},
		RunE: func(c *cobra.Command, _ []string) error { return spawn(c, f) },
	}
	flags := c.Flags()
	f.template.AddFlags(c)
	f.budget.AddFlags(c)
	flags.StringVarP(&f.q.Name, "name", "n", "", "`NAME` of the arm (default: a random name)")
	flags.StringVarP(&f.q.Workdir, "workdir", "w", "", "`FOLDER` to work in (default: the current folder)")
	flags.BoolVar(&f.noTree, "no-worktree", false, "no worktree, although the template says so")
	flags.StringVar(&f.worktree, "worktree", "", "work in a git worktree, on a new branch or on `BRANCH`")
	flags.Lookup("worktree").NoOptDefVal = newBranch
	flags.StringVar(&f.base, "base", "", "with --worktree: `COMMIT` or branch where a new branch begins")
	flags.BoolVar(&f.noSetup, "no-setup", false, "with --worktree: do not run the project's .coleo/setup")
	flags.StringVar(&f.q.Harness, "harness", "", "`NAME` of the harness: see 'coleo harness list'")
	flags.StringVar(&f.q.Provider, "provider", "", "`ID` of the model's provider")
	flags.StringVar(&f.q.Model, "model", "", "`MODEL`, PROVIDER/MODEL, or scripted")
	flags.StringVar((*string)(&f.q.Fallback), "fallback", "", fallbackHelp)
	flags.StringVar(&f.script, "script", "", "with --model scripted: `FILE` with its answers")
	flags.StringVar(&f.q.Endpoint, "endpoint", "", "base `URL` of another model server, without /v1")
	flags.StringVarP(&f.q.InitialPrompt, "prompt", "p", "", "first prompt (`TEXT`)")
	flags.StringVar((*string)(&f.q.PermissionMode), "permission-mode", "", "`MODE`: ask (default), edit, plan or all")
	flags.StringVar((*string)(&f.q.Profile), "profile", "", "`PROFILE`: user (default) or hermetic")
	flags.StringVar(&f.q.Home, "home", "", "`FOLDER` that is HOME in the hermetic profile")
	flags.StringArrayVar(&f.q.Wrap, "wrap", nil, "`WORD` before the agent CLI's command; repeatable")
	flags.StringArrayVar(&f.mcp, "mcp", nil, "MCP server, as `NAME=COMMAND`; repeatable")
	flags.StringVar(&f.tools, "tools", "", "`NAMES` of Coleo's own tools for the model, with commas, or all")
	flags.BoolVar(&f.q.NoTools, "no-tools", false, "none of Coleo's own tools")
	flags.StringArrayVarP(&f.env, "env", "e", nil, "variable, as NAME=VALUE or `NAME`; repeatable")
	flags.StringArrayVar(&f.envFiles, "env-file", nil, "`FILE` with variables; repeatable")
	flags.StringSliceVar(&f.labels, "label", nil, "label of the new arm, as `KEY=VALUE`; repeatable")
	flags.StringVar(&f.schema, "state-schema", "", "`FILE` with the JSON Schema of 'coleo arm memo'")
	flags.BoolVar(&f.q.TrustWorkdir, "trust-workdir", false,
		"tell the agent CLI that you trust the folder")
	flags.StringVar(&f.q.AgentID, "agent", "", "`ID` of the host agent that runs the arm")
	flags.StringVar((*string)(&f.q.OnPartition), "on-partition", "", "`MODE`: run (default) or freeze")
	flags.StringVar((*string)(&f.q.Policy), "policy", "", "`MODE` of the policy: off (default), shadow or read")
	flags.StringVar((*string)(&f.sandbox.Kind), "sandbox", "", "`KIND` of sandbox: none (default) or bwrap")
	flags.StringVar((*string)(&f.sandbox.Network), "sandbox-net", "", "`NETWORK` of the sandbox: all (default) or none")
	flags.StringVar((*string)(&f.q.OnLimit), "on-limit", "", "`MODE`: wait (default) or ask")
	flags.StringVar(&f.q.ContinueWith, "continue-with", "",
		"prompt after a limit has passed (`TEXT`, default \"continue\")")
	flags.BoolVar(&f.q.Recover, "recover", false, "continue the last conversation of a stopped arm")
	flags.BoolVar(&f.local, "allow-local", false, "run without a host agent if there is none")
	flags.StringVarP(&f.terminal, "terminal", "t", "", "show it in a window of `TERMINAL`")
	flags.BoolVar(&f.headless, "headless", true, "open no window; --headless=false needs -t")
	flags.DurationVar(&f.timeout, "timeout", 2*time.Minute, "maximum wait until it is ready")
	flags.BoolVar(&f.noWait, "no-wait", false, "return as soon as the process runs")
	return c
}

func spawn(c *cobra.Command, f spawnFlags) error {
	if err := f.prepare(c); err != nil {
		return err
	}
	s, err := setup.New()
	if err != nil {
		return err
	}
	client, err := StartedClient(c, s, f.local)
	if err != nil {
		return err
	}
	if asksUser(c) {
		q := questions{bufio.NewReader(c.InOrStdin()), c.ErrOrStderr(),
			func(i coleo.Info) bool { return i.Command == "" || s.FindProgram(i.Command) != "" }}
		if err := f.askAll(c.Context(), q, client, s.Arms.Harness); err != nil {
			return err
		}
		if err := f.prepare(c); err != nil { // the answers are checked as the flags were
			return err
		}
	}
	if f.q.Name == "" {
		if f.q.Name, err = freeName(c.Context(), client); err != nil {
			return err
		}
	}
	if f.q.TrustWorkdir {
		if err := SayTrust(c, client, f.q, s.Arms.Harness); err != nil {
			return err
		}
	}
	if err := f.checkNew(c.Context(), client); err != nil {
		return err
	}
	if err := f.place(c.Context(), client, s.Arms.Harness); err != nil {
		return err
	}
	reply, err := client.Spawn(c.Context(), f.q)
	if err != nil {
		return err
	}
	if reply.Warning != "" {
		c.PrintErrln("coleo: note:", reply.Warning)
	}
	if !f.noWait {
		if reply.Arm, err = awaitReady(c.Context(), client, reply.Arm, f.timeout); err != nil {
			return err
		}
	}
	line := reply.ModelChange.FirstLine() + spawnedLine(reply.Arm)
	switch {
	case reply.Arm.Window != nil && !f.noWait:
		if reply.Arm, err = awaitWindow(c.Context(), client, reply.Arm); err != nil {
			return besides(err, reply.Arm.Name)
		}
		line += "\n" + windowLine(reply.Arm)
	case f.terminal != "" && f.q.Terminal == "":
		done, err := openWindow(c, client, reply.Arm, window.Terminal(f.terminal))
		if err != nil {
			return besides(err, reply.Arm.Name)
		}
		line += "\n" + done.line()
	}
	return verb.Say(c, line, reply)
}

// place adds to the request where to open the window, if the harness shows its agent CLI in a
// window. For any other harness, 'coleo arm attach' runs in a window that is opened after the
// start. Without --harness, -t selects a harness with a window, unless the arm already has a
// harness.
func (f *spawnFlags) place(ctx context.Context, client *api.Client, usual string) error {
	name := f.q.Harness
	if name == "" {
		arm, err := client.Arm(ctx, f.q.Name)
		switch {
		case err == nil:
			name = arm.Harness
		case coleo.ErrorCode(err) != coleo.ENotFound:
			return err
		case f.terminal == "":
			name = usual
		}
	}
	list, err := client.Harnesses(ctx)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(list, func(i coleo.Info) bool { return i.Name == name })
	if shown := at >= 0 && list[at].Capabilities.Window; shown || name == "" && f.terminal != "" {
		f.q.Terminal, f.q.WindowEnviron = f.terminal, windowEnviron(os.LookupEnv)
	}
	return nil
}

// checkWindow checks the flags for a window. It runs before the arm is started.
func (f *spawnFlags) checkWindow(c *cobra.Command) error {
	if f.headless && c.Flags().Changed("headless") {
		f.q.Headless = &f.headless
	}
	switch {
	case f.terminal == "" && !f.headless:
		return coleo.Errorf(coleo.EInvalid,
			"--headless=false needs -t TERMINAL: every arm runs without a window, and 'coleo arm open' shows it in one")
	case f.terminal != "" && f.headless && c.Flags().Changed("headless"):
		return coleo.Errorf(coleo.EInvalid, "--headless and -t %s contradict each other: give one of them", f.terminal)
	case f.terminal == "":
		return nil
	}
	return window.Check(windowOf(coleo.Arm{}, window.Terminal(f.terminal), ""))
}

// prepare checks the flags and fills in the request f.q.
func (f *spawnFlags) prepare(c *cobra.Command) error {
	if err := f.checkWindow(c); err != nil {
		return err
	}
	if err := f.complete(); err != nil {
		return err
	}
	var err error
	if f.q.Budget, err = f.budget.Budget(); err != nil {
		return err
	}
	if f.q.Labels, err = coleo.ParseLabels(f.labels); err != nil {
		return err
	}
	if err := f.takeTemplate(c); err != nil {
		return err
	}
	if f.q.Env, err = f.environment(c); err != nil {
		return err
	}
	if f.script != "" {
		if f.q.Script, err = model.ReadScript(f.script); err != nil {
			return err
		}
	}
	if f.q.Model == coleo.ModelScripted && f.q.Provider == "" && f.q.Endpoint == "" {
		return model.CheckScripted(c.Context())
	}
	return nil
}

// StartedClient starts serve and the host agent if they do not run, and returns a client of serve.
// If local is true, it starts only serve, because the arm can run without a host agent.
func StartedClient(c *cobra.Command, s setup.Setup, local bool) (*api.Client, error) {
	start := s.Start
	if local {
		start = s.StartServe
	}
	started, err := start(c.Context())
	if err != nil {
		return nil, err
	}
	if len(started) > 0 {
		c.PrintErrln("coleo: started", strings.Join(started, " and "))
	}
	return s.Client()
}

const fallbackHelp = "`STRATEGY` if the model is not available: any, same-price, cheaper or none"

// complete fills in the fields of f.q that depend on flags.
func (f *spawnFlags) complete() error {
	if f.q.Workdir == "" {
		f.q.Workdir = "."
	}
	dir, err := filepath.Abs(f.q.Workdir)
	if err != nil {
		return err
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return coleo.Errorf(coleo.EInvalid,
			"the work folder %s is not there: make it, or name another one with -w", dir)
	}
	f.q.Workdir = dir
	if f.local = f.local || setup.AllowsLocal(); f.local {
		f.q.AllowLocalFallback = &f.local
	}
	if err := f.takeWorktree(); err != nil {
		return err
	}
	if f.schema != "" {
		if f.q.MemoSchema, err = readJSON(f.schema, "nothing was started"); err != nil {
			return err
		}
	}
	if err := f.takeSandbox(); err != nil {
		return err
	}
	if f.tools != "" {
		f.q.Tools = strings.Split(f.tools, ",")
	}
	for _, text := range f.mcp {
		name, command, ok := strings.Cut(text, "=")
		argv := strings.Fields(command)
		if !ok || name == "" || len(argv) == 0 {
			return coleo.Errorf(coleo.EInvalid, "--mcp %q: write NAME=COMMAND", text)
		}
		f.q.MCPServers = append(f.q.MCPServers, coleo.MCPServer{Name: name, Command: argv[0], Args: argv[1:]})
	}
	return nil
}
