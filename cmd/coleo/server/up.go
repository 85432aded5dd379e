package server

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/verb"
)

func newUpCommand() *cobra.Command {
	var showcase, ownLogin bool
	var notify string
	c := &cobra.Command{
		Use:   "up",
		Short: "Start serve and a host agent in the background",
		Args:  verb.Exactly(0, "no arguments"),
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
				return verb.PrintJSON(c, map[string]any{"started": started, "dashboard": link.URL, "expires": link.Expires})
			}
			word := "already up"
			if len(started) > 0 {
				word = "started " + strings.Join(started, " and ")
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "coleo: %s\n%sdashboard: %s\n%s\n", word, movedNote(s), link.URL, note)
			return err
		},
	}
	c.Flags().StringVar(&notify, "notify", "",
		"shell command to run when an arm asks something, and when a turn finished, failed or died (COLEO_EVENT, COLEO_ARM_NAME, COLEO_SUBJECT)")
	c.Flags().BoolVar(&showcase, "demo", false,
		"and show two real agent CLIs as arms, with a scripted model unless --own-login is given")
	c.Flags().BoolVar(&ownLogin, "own-login", false,
		"with --demo: use the agent CLIs' own logins and models, which may cost money")
	return c
}
