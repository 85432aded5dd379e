package arm

import (
	"time"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/cmd/coleo/budget"
	"coleo.dev/cmd/coleo/template"
	"coleo.dev/cmd/coleo/verb"
	"coleo.dev/wire"
)

// spawnFlags contains the flags of arm spawn.
type spawnFlags struct {
	q           wire.SpawnRequest
	mcp         []string
	labels      []string // KEY=VALUE
	env         []string // NAME=VALUE or NAME
	envFiles    []string
	script      string // file with the script of the scripted model
	timeout     time.Duration
	noWait      bool
	local       bool
	terminal    string // terminal program for the window
	headless    bool
	tools       string   // names of Coleo's own tools, separated by commas
	schema      string   // file with the schema of the memo
	worktree    string   // branch of the worktree, or newBranch
	base        string   // commit or branch at which a new branch begins
	noTree      bool     // whether the arm has no worktree, even if the template asks for one
	with        []string // folders of further repositories
	noSetup     bool     // whether the project's set-up script is not run
	sandbox     coleo.Sandbox
	template    template.Flags
	budget      budget.Flags
	endWhenDone bool
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

--template NAME starts a new arm with values from a template. Other flags take
precedence. --arg NAME=VALUE is an argument of the template's prompt. See 'coleo
template list' and docs/templates.md.

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
  all     it makes edits and runs commands, and never asks; this needs --sandbox, or
          --yes-without-sandbox

--profile user (default) uses your HOME and your logins. --profile hermetic
uses the HOME of --home, a fake key and the model server of --endpoint.

-e NAME=VALUE sets a variable for the agent CLI, and -e NAME passes on yours. A
line of an --env-file is NAME=VALUE or NAME. -e takes precedence. Nothing shows
the values again.

--tools all gives the model Coleo's own tools: it can ask you, keep tasks and claim
files ('coleo arm questions', 'coleo arm todos'). --no-tools gives it none. Without both
flags, arm_tools in config.toml decides.

-t shows the arm in a window. Without --harness, it selects a harness whose agent CLI
has a window of its own. With any other harness, the window opens as with 'coleo arm
open'.

--policy says what answers the arm's approval dialogs:
  off     a person (default)
  shadow  a person; 'coleo policy explain' shows what read would have answered
  read    the policy approves calls that only read files of the work folder, and
          follows your rules; a person answers the rest: see docs/security.md

--worktree gives the arm a git worktree and a branch of its own, below Coleo's state
folder or where [workspace] in config.toml says. The branch is named for the arm.
--worktree=BRANCH names another branch, which may exist. --worktree=pr/12 fetches the
head of pull request 12. --base says where a new branch begins (default: the commit that
is checked out in the folder). 'coleo arm remove' removes the worktree again, and never
loses work. If the project has a script .coleo/setup, it runs in the new worktree, once
you trust it ('coleo workspace trust'). --no-setup leaves it out.

--with PATH adds another repository, and can be repeated. The arm then works in a folder
with one worktree of each repository, each on a branch of its own. --worktree=BRANCH
is for all of them, --base and pr/12 for the repository of the work folder alone.

--sandbox bwrap runs the agent CLI in a sandbox (Linux, with bubblewrap). The agent CLI
writes only in the work folder and in its own folders of HOME, and sees nothing else of
HOME. A stopped arm keeps its sandbox, unless you give --sandbox none: see
docs/security.md. --sandbox-net says which servers it reaches:
  all                  everything that this machine reaches (default)
  none                 only loopback inside
  model                only the server of its model
  allow=HOST[:PORT],…  these servers, and the server of its model

--sandbox podman or docker runs it in a container of the image that --sandbox-image
names. The agent CLI must be in the image. Coleo pulls no image.

--sandbox-limit says how much of the machine the sandbox can use, such as
memory=4G,pids=500,cpus=2. 'coleo arm status' shows what enforces the limits: see
docs/security.md.

--on-limit says what happens when the arm meets a limit of its model, such as a used-up
quota. With wait (default), the arm is parked until the limit has passed. It then
continues once by itself, with the prompt of --continue-with. With ask, it is parked
until you prompt it. A list of alternatives can come first, such as
model:NAME,handover:HARNESS,wait. model:NAME continues with another model of the
harness. handover:HARNESS gives the task to a new arm.

--budget says how much the arm's model may cost, in US dollars, and --budget-policy
what happens then: see 'coleo arm budget'.

--on-partition says what happens while serve cannot reach the arm's host. With run
(default), keys can still be typed into the arm. With freeze, the arm takes no keys.`

func newSpawnCommand() *cobra.Command {
	var f spawnFlags
	c := &cobra.Command{
		Use:   "spawn",
		Short: "Start an arm",
		Long:  spawnHelp,
		Example: `  coleo arm spawn -n fix --harness HARNESS -w ~/src/project
  coleo arm spawn -n fix --harness HARNESS -w ~/src/project --worktree
  coleo arm spawn -n both --harness HARNESS -w ~/src/app --worktree --with ~/src/lib
  coleo arm spawn -n try --harness HARNESS --model scripted
  coleo arm spawn --template review --arg branch=topic`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 1 && c.Flags().Changed("worktree") && f.worktree == newBranch {
				f.worktree = args[0] // in --worktree BRANCH, the BRANCH is a separate argument
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
	flags.BoolVar(&f.noTree, "no-worktree", false, "no worktree, even if the template has one")
	flags.StringVar(&f.worktree, "worktree", "", "work in a git worktree, on a new branch or on `BRANCH`")
	flags.Lookup("worktree").NoOptDefVal = newBranch
	flags.StringArrayVar(&f.with, "with", nil,
		"with --worktree: a worktree of the repository of `PATH` too; can be repeated")
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
	verb.SandboxAgreementFlags(c, &f.q.YesWithoutSandbox, &f.q.Untested)
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
	flags.StringVar((*string)(&f.sandbox.Kind), "sandbox", "",
		"`KIND` of sandbox: none (default), bwrap, podman or docker")
	flags.StringVar(&f.sandbox.Image, "sandbox-image", "", "`IMAGE` of podman or docker that contains the agent CLI")
	flags.StringVar((*string)(&f.sandbox.Network), "sandbox-net", "",
		"`NETWORK` of the sandbox: all (default), none, model or allow=HOST,…")
	flags.StringVar((*string)(&f.sandbox.Limit), "sandbox-limit", "",
		"`LIMITS` of the sandbox: none or memory=SIZE,pids=NUMBER,cpus=NUMBER")
	flags.StringVar((*string)(&f.q.OnLimit), "on-limit", "",
		"`STEPS`: wait (default) or ask, after model:NAME and handover:HARNESS")
	flags.StringVar(&f.q.ContinueWith, "continue-with", "",
		"prompt after a limit has passed (`TEXT`, default \"continue\")")
	flags.BoolVar(&f.endWhenDone, "end-when-done", false, "end the arm when a run has finished and its queue is empty")
	flags.BoolVar(&f.q.Recover, "recover", false, "continue the last conversation of a stopped arm")
	flags.BoolVar(&f.local, "allow-local", false, "run without a host agent if there is none")
	flags.StringVarP(&f.terminal, "terminal", "t", "", "show it in a window of `TERMINAL`")
	flags.BoolVar(&f.headless, "headless", true, "open no window; --headless=false needs -t")
	flags.DurationVar(&f.timeout, "timeout", 2*time.Minute, "maximum wait until it is ready")
	flags.BoolVar(&f.noWait, "no-wait", false, "return as soon as the process runs")
	return c
}

const fallbackHelp = "`STRATEGY` if the model is not available: any, same-price, cheaper or none"
