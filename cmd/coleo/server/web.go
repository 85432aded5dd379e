package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/api/apiclient"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/show"
	"coleo.dev/cmd/coleo/verb"
	"coleo.dev/wholefile"
	"coleo.dev/wire"
)

// linkNote is a note that is printed with a link.
const linkNote = "(the link works once, within two minutes; 'coleo web' prints another one)"

func newWebCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "web",
		Short: "Print a link to the dashboard; list or sign out browsers",
		Long: `Print a link that opens the dashboard. Serve must run.

The link works once, within two minutes. The browser that opens it is signed in
until you sign it out, or until it is not used for 30 days. Treat the link as a
secret.`,
		Args: verb.Exactly(0, "no arguments, or list, revoke or rotate-token"),
		RunE: setup.WithServe(func(c *cobra.Command, _ *apiclient.Client, s setup.Setup, _ []string) error {
			link, note, err := dashboardLink(c.Context(), s)
			if err != nil {
				return err
			}
			if link.URL == "" {
				return coleo.Errorf(coleo.EUnsupported, "%s", note)
			}
			if verb.WantsJSON(c) {
				return verb.PrintJSON(c, map[string]any{"dashboard": link.URL, "expires": link.Expires})
			}
			if _, err := fmt.Fprintln(c.OutOrStdout(), link.URL); err != nil {
				return err
			}
			_, err = fmt.Fprintln(c.ErrOrStderr(), note)
			return err
		}),
	}
	c.AddCommand(newWebListCommand(), newWebRevokeCommand(), newWebRotateCommand())
	return c
}

func newWebListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the browsers that are signed in",
		Args:  verb.Exactly(0, "no arguments"),
		RunE: setup.WithServe(func(c *cobra.Command, client *apiclient.Client, _ setup.Setup, _ []string) error {
			list, err := client.Browsers(c.Context())
			if err != nil {
				return err
			}
			if verb.WantsJSON(c) {
				return verb.PrintJSON(c, map[string]any{"browsers": list})
			}
			if len(list) == 0 {
				_, err := fmt.Fprintln(c.OutOrStdout(), "no browser is signed in")
				return err
			}
			w := show.NewTable(c)
			fmt.Fprintln(w, "ID\tSIGNED IN\tLAST USED\tCALLS ITSELF")
			for _, b := range list {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", b.ID, b.Created.Local().Format(time.DateTime),
					b.Used.Local().Format(time.DateTime), b.Agent)
			}
			return w.Flush()
		}),
	}
}

func newWebRevokeCommand() *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use:   "revoke ID | --all",
		Short: "Sign out one browser, or all of them",
		Long: `Sign out one browser, or all of them. Their open connections end at once.

'coleo web list' shows the ids. --all also invalidates links that nobody has
opened. The API token stays valid: 'coleo web rotate-token' replaces it.`,
		Args: func(c *cobra.Command, args []string) error {
			if all == (len(args) == 0) && len(args) <= 1 {
				return nil
			}
			return coleo.Errorf(coleo.EInvalid, "%s takes the id of one browser, or --all (see 'coleo web list')",
				c.CommandPath())
		},
		RunE: setup.WithServe(func(c *cobra.Command, client *apiclient.Client, _ setup.Setup, args []string) error {
			n, err := 1, error(nil)
			if all {
				n, err = client.SignOutAll(c.Context())
			} else {
				err = client.SignOut(c.Context(), args[0])
			}
			if err != nil {
				return err
			}
			return verb.Say(c, fmt.Sprintf("signed out: %d", n), map[string]int{"signedOut": n})
		}),
	}
	c.Flags().BoolVar(&all, "all", false, "sign out all browsers, and invalidate unopened links")
	return c
}

func newWebRotateCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "rotate-token",
		Short: "Replace the API token for programs",
		Long: `Replace the API token for programs. The old token becomes invalid at once.

Serve continues to run. Browsers stay signed in. Programs read the new token
from the file that this prints.`,
		Args: verb.Exactly(0, "no arguments"),
		RunE: setup.WithServe(func(c *cobra.Command, client *apiclient.Client, s setup.Setup, _ []string) error {
			name, err := client.ReplaceToken(c.Context())
			if err != nil {
				return err
			}
			return verb.Say(c, "the API token was replaced; programs read the new one from "+s.Token(),
				map[string]string{"file": s.Token(), "fingerprint": name})
		}),
	}
}

// dashboardLink returns a link that opens the dashboard once, and a note for the user. It returns
// only a note if serve has an older version, which cannot make links.
func dashboardLink(ctx context.Context, s setup.Setup) (link wire.Link, note string, err error) {
	client, err := s.Client()
	if err != nil {
		return wire.Link{}, "", err
	}
	defer client.Close()
	link, err = client.NewLink(ctx)
	if coleo.ErrorCode(err) == coleo.ENotFound {
		return wire.Link{},
			"serve has an older version, which makes no links: run 'coleo down' and 'coleo up'; " +
				"the arms continue to run", nil
	}
	return link, linkNote, err
}

// keepToken writes a new API token to the file from which programs read the token.
func keepToken(s setup.Setup, token string) error {
	return wholefile.Replace(s.Token(), []byte(token+"\n"), wholefile.OwnerOnly)
}

// signOutAll signs out all browsers if another program has the port of the dashboard. A page of
// that program would have the same origin as the dashboard. So the page could otherwise use the
// sign-in keys that a browser keeps for the dashboard.
//
// signOutAll returns a note for the user, or "" if it has signed out nobody.
func signOutAll(s setup.Setup, listen error) string {
	if !errors.Is(listen, syscall.EADDRINUSE) {
		return ""
	}
	switch err := os.Remove(s.Browsers()); {
	case err == nil:
		return "; another program has that port, so all browsers are signed out"
	case errors.Is(err, fs.ErrNotExist):
		return ""
	default:
		return fmt.Sprintf("; another program has that port, and the browsers could not be signed out: %v", err)
	}
}
