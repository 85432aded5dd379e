package server

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/verb"
)

// notifyUsage is the help of the flag --notify.
const notifyUsage = "shell `COMMAND` to run when an arm asks or a turn ends"

func newUpCommand() *cobra.Command {
	var showcase, ownLogin bool
	var notify string
	c := &cobra.Command{
		Use:   "up",
		Short: "Start serve and a host agent in the background",
		Long: `Start serve and a host agent in the background, and print a link to the
dashboard.

What already runs is left alone. The link works once, within two minutes. The
logs are in logs/ below the state folder.

--notify runs a shell command for each arm that asks something and for each
turn that ends. The command gets COLEO_EVENT, COLEO_ARM_NAME, COLEO_SUBJECT and
other variables: see docs/cli.md. It takes precedence over notify in
config.toml.

--demo also starts two real agent CLIs as arms, prompts them, and prints
what they do. They use the scripted model, which costs nothing, unless you give
--own-login.`,
		Args: verb.Exactly(0, "no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := setup.New()
			if err != nil {
				return err
			}
			if notify != "" {
				s.Notify = notify
			}
			if showcase {
				return demonstrate(c, s, ownLogin)
			}
			started, err := s.Start(c.Context())
			if err != nil {
				return err
			}
			link, note, err := dashboardLink(c.Context(), s)
			if err != nil {
				return err
			}
			if verb.WantsJSON(c) {
				return verb.PrintJSON(c, map[string]any{"started": started, "dashboard": link.URL,
					"expires": link.Expires})
			}
			word := "already up"
			if len(started) > 0 {
				word = "started " + strings.Join(started, " and ")
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "coleo: %s\n%sdashboard: %s\n%s\n", word, movedNote(s), link.URL,
				note)
			return err
		},
	}
	c.Flags().StringVar(&notify, "notify", "", notifyUsage)
	c.Flags().BoolVar(&showcase, "demo", false,
		"also start two real agent CLIs as arms")
	c.Flags().BoolVar(&ownLogin, "own-login", false,
		"with --demo: use your logins, which may cost money")
	return c
}
