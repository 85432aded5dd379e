package policy

import (
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/api/apiclient"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/verb"
	"coleo.dev/policy/files"
	"coleo.dev/printable"
)

// grantTime is how long a grant lasts if the user gives no time.
const grantTime = 8 * time.Hour

func newGrantCommand() *cobra.Command {
	last, scope, tool := grantTime, "arm", ""
	c := &cobra.Command{
		Use:   "grant NAME [COMMAND]",
		Short: "Allow the policy of an arm to approve a command or a tool for a limited time",
		Long: `Let the policy of the arm NAME approve a command for a while, or all calls of a
tool (--tool). COMMAND is a command with its arguments. A * as the last word
stands for any further arguments.

With --scope session, the grant ends when the arm ends or is started again. With
--scope thread, it applies to the arm's conversation, even if another arm continues
that conversation.

The policy must be on ('coleo arm spawn --policy read'). A grant never allows a call
that a rule denies. 'coleo policy grants' lists the grants. This does not work
inside an arm.`,
		Example: "  coleo policy grant fix 'go test ./...' --for 2h\n  coleo policy grant fix --tool WebSearch --scope " +
			"session",
		Args: verb.AtMost(2, "the name of an arm, and a command in quotes"),
		RunE: setup.WithClient(func(c *cobra.Command, client *apiclient.Client, args []string) error {
			if len(args) == 0 {
				return coleo.Errorf(coleo.EInvalid, "name the arm that the grant is for")
			}
			s, err := setup.New()
			if err == nil {
				err = s.Prepare()
			}
			if err != nil {
				return err
			}
			arm, err := client.Arm(c.Context(), args[0])
			if err != nil {
				return err
			}
			now := time.Now().UTC()
			g := files.Grant{ID: strings.ToLower(rand.Text()[:8]), Arm: arm.ID, ArmName: arm.Name, Tool: tool, Made: now,
				Command: strings.Join(args[1:], ""), Ends: now.Add(last)}
			if err := limitToScope(&g, arm, scope); err != nil {
				return err
			}
			if err := pathsOf(s).Give(g, now); err != nil {
				return err
			}
			return verb.Say(c, "Granted: "+line(g), g)
		}),
	}
	f := c.Flags()
	f.DurationVar(&last, "for", last, "how long the grant lasts, at most 720h")
	f.StringVar(&scope, "scope", scope, "what the grant applies to: arm, session or thread")
	f.StringVar(&tool, "tool", "", "grant all calls of the agent CLI's `TOOL`, and no command")
	return c
}

// limitToScope limits a grant for an arm to a scope: the arm, its session or its conversation.
func limitToScope(g *files.Grant, arm coleo.Arm, scope string) error {
	switch scope {
	case "arm":
	case "session":
		g.Start = arm.Generation
	case "thread":
		if arm.SessionID == "" {
			return coleo.Errorf(coleo.EConflict, "the conversation of %s is not known yet: send a prompt first", arm.Name)
		}
		g.Arm, g.Thread = "", arm.SessionID
	default:
		return coleo.Errorf(coleo.EInvalid, "--scope is %q: it is arm, session or thread", scope)
	}
	return nil
}

func newGrantsCommand() *cobra.Command {
	var revoke string
	c := &cobra.Command{
		Use:   "grants",
		Short: "List the grants, or revoke one",
		Long: `List what is granted for a while, the oldest first. --revoke ID ends a grant
at once.`,
		Example: "  coleo policy grants\n  coleo policy grants --revoke ID",
		Args:    verb.Exactly(0, "no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := setup.New()
			if err != nil {
				return err
			}
			if revoke != "" {
				if err := s.Prepare(); err != nil {
					return err
				}
				if err := pathsOf(s).Revoke(revoke, time.Now()); err != nil {
					return err
				}
				return verb.Say(c, "Revoked: "+revoke, coleo.Note{Text: revoke})
			}
			list, err := pathsOf(s).Grants(time.Now())
			if err != nil {
				return err
			}
			lines := []string{}
			for _, g := range list {
				lines = append(lines, line(g))
			}
			if len(lines) == 0 {
				lines = []string{"Nothing is granted."}
			}
			return verb.Say(c, strings.Join(lines, "\n"), list)
		},
	}
	c.Flags().StringVar(&revoke, "revoke", "", "end the grant with this `ID`")
	return c
}

// line returns a grant as a line of text for people.
func line(g files.Grant) string {
	what, of := fmt.Sprintf("%q", printable.Text(g.Command)), "arm "+printable.Text(g.ArmName)
	if g.Tool != "" {
		what = "tool " + printable.Text(g.Tool)
	}
	switch {
	case g.Thread != "":
		of = "thread " + printable.Text(g.Thread)
	case g.Start != 0:
		of += fmt.Sprintf(" (start %d)", g.Start)
	}
	return fmt.Sprintf("%s  %s  %s  until %s", g.ID, of, what, g.Ends.Local().Format(time.DateTime))
}
