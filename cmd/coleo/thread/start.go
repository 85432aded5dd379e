package thread

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/api/apiclient"
	"coleo.dev/armname"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/verb"
	"coleo.dev/wire"
)

// startFlags contains the flags of verbs that start an arm with a conversation.
type startFlags struct {
	q       wire.SpawnRequest
	noWait  bool
	timeout time.Duration
}

func (f *startFlags) add(c *cobra.Command) {
	flags := c.Flags()
	flags.StringVarP(&f.q.Name, "name", "n", "", "`NAME` of the arm (default: a random name)")
	flags.StringVarP(&f.q.Workdir, "workdir", "w", "", "`FOLDER` to work in (default: the folder of the conversation)")
	flags.StringVar(&f.q.Provider, "provider", "", "`ID` of the model's provider")
	flags.StringVar(&f.q.Model, "model", "", "`MODEL`, or PROVIDER/MODEL")
	flags.StringVar(&f.q.Endpoint, "endpoint", "", "base `URL` of another model server, without /v1")
	flags.StringVar((*string)(&f.q.PermissionMode), "permission-mode", "", "`MODE`: ask (default), edit, plan or all")
	verb.SandboxAgreementFlags(c, &f.q.YesWithoutSandbox, &f.q.Untested)
	flags.BoolVar(&f.q.TrustWorkdir, "trust-workdir", false, "tell the agent CLI that you trust the folder")
	flags.DurationVar(&f.timeout, "timeout", 2*time.Minute, "maximum wait until it is ready")
	flags.BoolVar(&f.noWait, "no-wait", false, "return as soon as the process runs")
}

// If the user gave no work folder, fillIn uses the folder of the conversation. If the user gave
// no name for the arm, fillIn chooses one.
func (f *startFlags) fillIn(ctx context.Context, client *apiclient.Client, t coleo.Thread) error {
	if f.q.Workdir == "" {
		f.q.Workdir = t.Folder
	}
	if f.q.Workdir == "" {
		return coleo.Errorf(coleo.EInvalid, "the record of %s does not name its folder: name it with -w", t.ID)
	}
	return f.chooseThread(ctx, client)
}

// chooseThread makes the path of the given folder absolute. If the user gave no name, chooseThread
// picks one.
func (f *startFlags) chooseThread(ctx context.Context, client *apiclient.Client) error {
	if f.q.Workdir != "" {
		dir, err := filepath.Abs(f.q.Workdir)
		if err != nil {
			return err
		}
		f.q.Workdir = dir
	}
	if f.q.Name != "" {
		return nil
	}
	arms, err := client.Arms(ctx, true)
	if err != nil {
		return err
	}
	f.q.Name = armname.New(func(name string) bool {
		return slices.ContainsFunc(arms, func(a coleo.Arm) bool { return a.Name == name })
	})
	return nil
}

// printStarted waits until the arm is ready, and prints what Coleo has started.
func (f *startFlags) printStarted(c *cobra.Command, client *apiclient.Client, reply wire.SpawnReply,
	what string) error {
	if reply.Warning != "" {
		c.PrintErrln("coleo: note:", reply.Warning)
	}
	if !f.noWait {
		ctx, cancel := context.WithTimeout(c.Context(), f.timeout)
		defer cancel()
		arm, err := client.WaitArm(ctx, reply.Arm.ID, coleo.Idle, coleo.WaitingApproval, coleo.Failed)
		if err != nil {
			return err
		}
		reply.Arm = arm
	}
	line := reply.ModelChange.FirstLine() + fmt.Sprintf("%s: arm %s (%s, process %d, %s)", what, reply.Arm.Name,
		reply.Arm.Harness, reply.Arm.PID, strings.ReplaceAll(string(reply.Arm.State), "_", " "))
	return verb.Say(c, line, reply)
}

func newResumeCommand() *cobra.Command {
	var f startFlags
	c := threadVerb("resume ID", "Start an arm that continues a conversation", 1, "the id of a conversation",
		func(c *cobra.Command, client *apiclient.Client, t coleo.Thread, _ []string) error {
			if err := f.fillIn(c.Context(), client, t); err != nil {
				return err
			}
			f.q.Harness, f.q.Conversation, f.q.Recover = t.Harness, t.ID, true
			if t.Home != "" {
				f.q.Profile, f.q.Home = coleo.ProfileHermetic, t.Home
			}
			reply, err := client.Spawn(c.Context(), f.q)
			if err != nil {
				return err
			}
			return f.printStarted(c, client, reply, "Continued "+t.ID)
		})
	c.Long = `Start an arm that continues a conversation, in the folder of that conversation. If
NAME is a stopped arm, that arm is started. Only one arm can have a conversation:
while another arm has it, nothing is started.`
	c.Example = `  coleo thread resume ID -n fix`
	f.add(c)
	return c
}

func newCloneCommand() *cobra.Command {
	var f startFlags
	c := threadVerb("clone ID", "Start an arm with a copy of a conversation", 1, "the id of a conversation",
		func(c *cobra.Command, client *apiclient.Client, t coleo.Thread, _ []string) error {
			if err := f.fillIn(c.Context(), client, t); err != nil {
				return err
			}
			reply, err := client.CloneThread(c.Context(), t.Harness, t.ID, f.q)
			if err != nil {
				return err
			}
			return f.printStarted(c, client, reply, "Copied "+t.ID)
		})
	c.Long = `Start an arm with a copy of a conversation. The agent CLI makes the copy, and the
conversation itself stays as it is. Some agent CLIs cannot do this.`
	f.add(c)
	return c
}

// ForkCommand returns the verb "arm fork".
func ForkCommand() *cobra.Command {
	var f startFlags
	c := &cobra.Command{
		Use:   "fork NAME",
		Short: "Start a new arm with a copy of the arm's conversation",
		Long: `Start a new arm with a copy of the arm's conversation. The agent CLI makes the
copy. The arm NAME and its conversation stay as they are.

The new arm has the harness, the folder, the model, the permissions and the
variables of the arm NAME. Flags change that. While the arm NAME works or asks
something, nothing is done. Some agent CLIs cannot do this.`,
		Example: `  coleo arm fork fix -n try`,
		Args:    verb.Exactly(1, "the name of an arm"),
		RunE: setup.WithClient(func(c *cobra.Command, client *apiclient.Client, args []string) error {
			if err := f.chooseThread(c.Context(), client); err != nil {
				return err
			}
			reply, err := client.ForkArm(c.Context(), args[0], f.q)
			if err != nil {
				return err
			}
			return f.printStarted(c, client, reply, "Forked "+args[0])
		}),
	}
	f.add(c)
	c.Flags().Lookup("workdir").Usage = "`FOLDER` to work in (default: the folder of the arm NAME)"
	return c
}

// ArmCommand returns the verb "arm thread".
func ArmCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "thread NAME [ID]",
		Short: "Show the arm's conversation, or continue another one",
		Long: `Show which conversation the arm has. With ID, start the arm again with that
conversation. The conversation must belong to the arm's agent CLI and folder, and no other
arm may have it. While the arm works or asks something, nothing is done.`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 1 || len(args) == 2 {
				return nil
			}
			return coleo.Errorf(coleo.EInvalid, "%s takes the name of an arm, and optionally the id of a conversation",
				c.CommandPath())
		},
		RunE: setup.WithClient(func(c *cobra.Command, client *apiclient.Client, args []string) error {
			if len(args) == 1 {
				t, err := client.ArmThread(c.Context(), args[0])
				if err != nil {
					return err
				}
				return verb.Say(c, t.ID+"  "+titleOf(t), t)
			}
			t, err := find(c.Context(), client, args[1])
			if err != nil {
				return err
			}
			reply, err := client.SwitchThread(c.Context(), args[0], t.ID)
			if err != nil {
				return err
			}
			f := startFlags{timeout: 2 * time.Minute}
			return f.printStarted(c, client, reply, "Continued "+t.ID)
		}),
	}
}
