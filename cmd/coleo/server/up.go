package server

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/cmd/coleo/revive"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/verb"
)

// notifyUsage is the help of the flag --notify.
const notifyUsage = "shell `COMMAND` to run when an arm asks or a run ends"

func newUpCommand() *cobra.Command {
	var showcase, ownLogin, reviving bool
	var notify string
	c := &cobra.Command{
		Use:   "up",
		Short: "Start serve and a host agent in the background",
		Long: `Start serve and a host agent in the background, and print a link to the
dashboard.

What already runs is left alone. The link works once, within two minutes. The
logs are in logs/ below the state folder.

--notify runs a shell command for each arm that asks something and for each
run that ends. The command gets COLEO_EVENT, COLEO_ARM_NAME, COLEO_SUBJECT and
other variables: see docs/cli.md. It takes precedence over notify in
config.toml. If serve already runs, --notify has no effect. While coleo up runs,
all users of the machine can see the command, so let it read a secret from a
file.

Use --revive after a reboot. It recovers every arm that ran before the reboot,
but no arm that a person had stopped. Parked arms stay parked. If a login has
expired, one line reports this for all arms that use it. It is safe to repeat.

--demo also starts two real agent CLIs as arms, prompts them, and prints
what they do. They use the scripted model, which costs nothing, unless you give
--own-login.`,
		Args: verb.Exactly(0, "no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := setup.New()
			if err != nil {
				return err
			}
			s.GivenNotify = notify
			switch {
			case showcase && reviving:
				return coleo.Errorf(coleo.EInvalid, "up takes --demo or --revive, not both: nothing was done")
			case showcase:
				return startDemo(c, s, ownLogin)
			}
			started, err := s.Start(c.Context())
			if err != nil {
				return err
			}
			if notify != "" && !slices.Contains(started, "serve") {
				c.PrintErrln("coleo: note: serve already runs, so --notify has no effect: 'coleo down' ends serve, and the arms " +
					"continue to run")
			}
			if reviving {
				return reviveArms(c, s, started)
			}
			return sayUp(c, s, started, nil)
		},
	}
	c.Flags().StringVar(&notify, "notify", "", notifyUsage)
	c.Flags().BoolVar(&showcase, "demo", false,
		"also start two real agent CLIs as arms")
	c.Flags().BoolVar(&reviving, "revive", false, "also recover the arms that ran before a reboot")
	c.Flags().BoolVar(&ownLogin, "own-login", false,
		"with --demo: use your logins, which may cost money")
	return c
}

// reviveArms recovers the arms that ran before a reboot, and prints what it did. It returns an
// error if an arm could not be recovered.
func reviveArms(c *cobra.Command, s setup.Setup, started []string) error {
	client, err := s.Client()
	if err != nil {
		return err
	}
	defer client.Close()
	report, err := revive.Run(c.Context(), client, setup.AllowsLocal())
	if err != nil {
		return err
	}
	if err := sayUp(c, s, started, &report); err != nil {
		return err
	}
	if report.Failed() {
		return verb.Exit(1)
	}
	return nil
}

// sayUp prints what up has started, and where the dashboard is. report is nil without --revive.
func sayUp(c *cobra.Command, s setup.Setup, started []string, report *revive.Report) error {
	link, note, err := dashboardLink(c.Context(), s)
	if err != nil {
		return err
	}
	if verb.WantsJSON(c) {
		out := map[string]any{"started": started, "dashboard": link.URL, "expires": link.Expires}
		if report != nil {
			out["revived"] = report
		}
		return verb.PrintJSON(c, out)
	}
	word := "already up"
	if len(started) > 0 {
		word = "started " + strings.Join(started, " and ")
	}
	if _, err = fmt.Fprintf(c.OutOrStdout(), "coleo: %s\n%sdashboard: %s\n%s\n", word, movedNote(s), link.URL,
		note); err != nil || report == nil {
		return err
	}
	return report.Print(c.OutOrStdout())
}
