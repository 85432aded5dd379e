package server

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/api/apiclient"
	"coleo.dev/cmd/coleo/arm"
	"coleo.dev/cmd/coleo/model"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/wire"
)

// demoArms contains the name and the harness of each arm of the demonstration.
var demoArms = []struct{ name, harness string }{
	{"claude", "claude-code"},
	{"opencode", "opencode"},
}

// demoTimeout is the time limit for the demonstration of one arm. It is long because an agent CLI
// is slow at its first start on a machine.
const demoTimeout = 3 * time.Minute

// startDemo starts serve and the host agent if they do not run. Then it starts the
// arms in demoArms. It asks each arm to answer a prompt and to write a file. At the
// end, it prints the state of the arms.
func startDemo(c *cobra.Command, s setup.Setup, ownLogin bool) error {
	step := func(format string, args ...any) { fmt.Fprintf(c.OutOrStdout(), "· "+format+"\n", args...) }
	if !ownLogin {
		if err := model.CheckScripted(c.Context()); err != nil {
			return err
		}
	}
	if _, err := s.Start(c.Context()); err != nil {
		return err
	}
	client, err := s.Client()
	if err != nil {
		return err
	}
	if ownLogin {
		step("using your own logins, as you asked: prompts go to the real models")
	} else {
		step("no key needed: a scripted model answers each arm, where there is no network")
	}
	for _, d := range demoArms {
		if err := demoArm(c.Context(), s, client, d.name, d.harness, ownLogin, step); err != nil {
			return fmt.Errorf("demonstrate %s: %w", d.harness, err)
		}
	}
	link, note, err := dashboardLink(c.Context(), s)
	if err != nil {
		return err
	}
	if err := tellDemo(c.Context(), client, c.OutOrStdout()); err != nil {
		return err
	}
	fmt.Fprintf(c.OutOrStdout(), `  coleo arm attach claude        its own terminal (Ctrl-] detaches)
  coleo arm list                 what each of them is doing
  dashboard                      %s
                                 %s
`, link.URL, note)
	return nil
}

// demoArm starts one arm and sends it a prompt. If the turn of this prompt finishes, demoArm sends
// a second prompt. If the arm already runs, demoArm does nothing.
func demoArm(ctx context.Context, s setup.Setup, client *apiclient.Client, name, harness string, ownLogin bool,
	step func(string, ...any)) error {
	ctx, cancel := context.WithTimeout(ctx, demoTimeout)
	defer cancel()
	if arm, err := client.Arm(ctx, name); err == nil && arm.Status != coleo.StatusStopped {
		step("%s: runs already, and was not changed", name)
		return nil
	}
	q := wire.SpawnRequest{Name: name, Harness: harness, Workdir: filepath.Join(s.State, "demo", name, "work")}
	if !ownLogin {
		q.Model = coleo.ModelScripted
	}
	if err := os.MkdirAll(q.Workdir, 0o700); err != nil {
		return err
	}
	// An error does not matter, because agent CLIs also work without a repository.
	_ = exec.CommandContext(ctx, "git", "init", "-q", q.Workdir).Run()
	reply, err := client.Spawn(ctx, q)
	if err != nil {
		return err
	}
	step("%s: %s started as process %d in %s", name, harness, reply.PID, q.Workdir)
	spawned, err := client.WaitArm(ctx, name, coleo.Idle, coleo.WaitingApproval, coleo.Failed, coleo.Dead)
	if err != nil || spawned.State != coleo.Idle {
		return err // err can be nil here, because tellDemo shows what happened to the arm
	}
	for _, text := range []string{"say hello-from-" + name, "write hello.txt with Hello from " + name} {
		step("%s: idle, and is sent: %s", name, text)
		receipt, err := client.Prompt(ctx, name, coleo.Prompt{Text: text}, "")
		if err != nil {
			return err
		}
		if t, err := arm.AwaitTurn(ctx, client, name, receipt.ID, 0); err != nil && t.Outcome == "" {
			return err
		} else if t.Outcome != coleo.OutcomeFinished {
			break
		}
	}
	return nil
}

// tellDemo prints the state and the last answer of each arm. It also prints commands that the user
// can try next.
func tellDemo(ctx context.Context, client *apiclient.Client, out io.Writer) error {
	fmt.Fprintln(out, "\nThis is how they are now:")
	next := ""
	for _, d := range demoArms {
		arm, err := client.Arm(ctx, d.name)
		if err != nil {
			return err
		}
		line := fmt.Sprintf("  %s is %s", arm.Name, arm.State)
		if arm.Dialog != nil {
			line += fmt.Sprintf(", and asks: %s", arm.Dialog.Title)
			next += fmt.Sprintf("  %-30s to allow it, or:\n  %-30s do not\n",
				"coleo arm approve "+arm.Name, "coleo arm deny "+arm.Name)
		}
		answer, err := lastAnswer(ctx, client, arm.ID)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s\n    %s\n", line, answer)
	}
	fmt.Fprintf(out, "\nNext:\n%s", next)
	return nil
}

// lastAnswer returns a sentence that contains the last answer of an arm.
func lastAnswer(ctx context.Context, client *apiclient.Client, arm string) (string, error) {
	last, err := client.LastRun(ctx, arm)
	if coleo.ErrorCode(err) == coleo.ENotFound {
		return "It has answered nothing yet.", nil
	}
	return fmt.Sprintf("Its last answer: %q", last.Answer), err
}
