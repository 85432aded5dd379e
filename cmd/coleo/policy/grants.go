package policy

import (
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/api"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/verb"
	"coleo.dev/policy/files"
)

// grantTime is how long something is granted if the user does not say it.
const grantTime = 8 * time.Hour

func newGrantCommand() *cobra.Command {
	last := grantTime
	c := &cobra.Command{
		Use:   "grant NAME COMMAND",
		Short: "Let the policy of an arm approve a command for a while",
		Long: `Let the policy of the arm NAME approve a command for a while. COMMAND is a command
with its arguments; a last word * stands for any further arguments. The policy
must be on ('coleo arm spawn --policy read'). A grant never allows what a rule
denies. 'coleo policy grants' lists the grants. This does not work inside an arm.`,
		Example: "  coleo policy grant fix 'go test ./...' --for 2h",
		Args:    verb.Exactly(2, "the name of an arm, and a command in quotes"),
		RunE: setup.WithClient(func(c *cobra.Command, client *api.Client, args []string) error {
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
			g := files.Grant{ID: strings.ToLower(rand.Text()[:8]), Arm: arm.ID, ArmName: arm.Name, Command: args[1], Made: now,
				Ends: now.Add(last)}
			if err := pathsOf(s).Give(g, now); err != nil {
				return err
			}
			return verb.Say(c, "Granted: "+line(g), g)
		}),
	}
	c.Flags().DurationVar(&last, "for", last, "how long it is granted, at most 720h")
	return c
}

func newGrantsCommand() *cobra.Command {
	var revoke string
	c := &cobra.Command{
		Use:   "grants",
		Short: "List what arms are granted for a while, or revoke it",
		Long: `List what arms are granted for a while, the oldest first. --revoke ID ends a grant
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

// line returns a grant for people.
func line(g files.Grant) string {
	return fmt.Sprintf("%s  arm %s  %q  until %s", g.ID, harmless(g.ArmName), harmless(g.Command),
		g.Ends.Local().Format(time.DateTime))
}
