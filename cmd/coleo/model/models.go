package model

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/api/apiclient"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/show"
	"coleo.dev/cmd/coleo/verb"
	"coleo.dev/modelresolver"
	"coleo.dev/pricebook"
	"coleo.dev/wire"
)

// This file contains the verbs models logins and models resolve.

func newModelsCommand() *cobra.Command {
	c := verb.Group("models", "List models, and show which one a request resolves to")
	c.AddCommand(newModelsListCommand(), newModelsLoginsCommand(), newModelsResolveCommand(), newModelsRefreshCommand())
	return c
}

func newModelsLoginsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "logins",
		Short: "Show where a key or a login is present, and which models arms have",
		Long: `Show where a key or a login is present, and which models arms have.

Coleo looks for the names of variables and for files. It reads no file, prints
no value, and does not check whether a model server accepts the login.`,
		Args: verb.Exactly(0, "no arguments"),
		RunE: setup.WithClient(func(c *cobra.Command, client *apiclient.Client, _ []string) error {
			models, err := client.Models(c.Context())
			if err != nil {
				return err
			}
			if verb.WantsJSON(c) {
				return verb.PrintJSON(c, models)
			}
			if err := printLogins(c, models); err != nil {
				return err
			}
			for _, m := range models.Models {
				if m.Uses > 0 {
					fmt.Fprintf(c.OutOrStdout(), "Model of %s: %s\n", verb.Counted(m.Uses, "arm"),
						coleo.ModelName(m.Provider, m.Model))
				}
			}
			return nil
		}),
	}
}

// printLogins prints the logins as a table.
func printLogins(c *cobra.Command, models wire.Models) error {
	w := show.NewTable(c)
	fmt.Fprintln(w, "HARNESS\tHOST\tLOGGED IN\tBY")
	for _, l := range models.Logins {
		in, by := loginMissing, strings.Join(append(l.Env, l.Files...), ", ")
		switch n := countUsable(models, l.Harness, loginNeedless); {
		case l.LoggedIn:
			in = loginThere
		case countUsable(models, l.Harness, loginThere) > 0: // Coleo finds no key, but the agent CLI's catalogue reports one
			in, by = loginThere, "its catalogue"
		case n > 0:
			by = "not needed for " + verb.Counted(n, "free model")
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", l.Harness, l.Host, in, orDash(by))
	}
	return w.Flush()
}

// countUsable counts the models of a harness for which loginFor returns the given word. It passes no logins to
// loginFor, so that the result depends only on the catalogue.
func countUsable(models wire.Models, harness, login string) int {
	n := 0
	for _, m := range models.Models {
		if slices.Contains(m.Harnesses, harness) && loginFor(m, nil) == login {
			n++
		}
	}
	return n
}

func newModelsResolveCommand() *cobra.Command {
	var file string
	var w modelresolver.ModelRequest
	c := &cobra.Command{
		Use:   "resolve [PROVIDER/MODEL]",
		Short: "Show which model a request resolves to",
		Long: `Show which model a request resolves to.

If the requested model is not available, this prints the model that Coleo takes
instead, and the reason on standard error. --json contains both models with their
prices.`,
		Example: `  coleo models resolve PROVIDER/MODEL
  coleo models resolve --provider PROVIDER --model MODEL`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			if err := oneWish(c, args, &w.Model); err != nil {
				return err
			}
			catalog, err := readCatalog(c, file)
			if err != nil {
				return err
			}
			if !w.Strategy.Valid() {
				return coleo.Errorf(coleo.EInvalid, "--fallback is any, same-price, cheaper or none, not %q", w.Strategy)
			}
			choice, err := modelresolver.Choose(catalog, w)
			if err != nil {
				return err
			}
			return printChoice(c, choice)
		},
	}
	catalogFlag(c, &file)
	c.Flags().StringVar((*string)(&w.Strategy), "fallback", "", "`STRATEGY`: any, same-price, cheaper or none")
	c.Flags().StringVar(&w.Provider, "provider", "", "`ID` of the provider")
	c.Flags().StringVar(&w.Model, "model", "", "`ID` of the model, or PROVIDER/MODEL")
	return c
}

// oneWish checks that the user has named exactly one model, with an argument or with flags.
// Otherwise it returns EInvalid. If there is an argument, oneWish copies it to the variable of the
// flag.
func oneWish(c *cobra.Command, args []string, model *string) error {
	flags := c.Flags().Changed("provider") || c.Flags().Changed("model")
	if len(args) > 1 || (len(args) == 1) == flags {
		return coleo.Errorf(coleo.EInvalid, "%s takes PROVIDER/MODEL, or --provider and --model (see %s --help)",
			c.CommandPath(), c.CommandPath())
	}
	if len(args) == 1 {
		*model = args[0]
	}
	return nil
}

func catalogFlag(c *cobra.Command, file *string) {
	c.Flags().StringVar(file, "catalog", "", "`FILE` with a model catalogue (default: ask serve)")
}

// readCatalog reads the catalogue of models from a file or, if no file is named, from serve.
func readCatalog(c *cobra.Command, file string) (modelresolver.Catalog, error) {
	if file == "" {
		return askCatalog(c)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return modelresolver.Catalog{}, coleo.Errorf(coleo.EInvalid, "read model catalogue: %v", err)
	}
	catalog, err := modelresolver.ParseCatalog(data)
	if err != nil {
		return modelresolver.Catalog{}, coleo.Errorf(coleo.EInvalid, "read %s: %v", file, err)
	}
	return catalog, nil
}

// serveClient returns a client of serve, or EUnavailable if serve does not run.
func serveClient(c *cobra.Command) (*apiclient.Client, error) {
	s, err := setup.New()
	if err != nil {
		return nil, err
	}
	if err := s.ServeStopped(); err != nil {
		return nil, err
	}
	if !s.ServeAnswers(c.Context()) {
		return nil, coleo.Errorf(coleo.EUnavailable,
			"Coleo does not run here: start it with 'coleo up', or name a file with --catalog")
	}
	return s.Client()
}

func askCatalog(c *cobra.Command) (modelresolver.Catalog, error) {
	client, err := serveClient(c)
	if err != nil {
		return modelresolver.Catalog{}, err
	}
	raw, err := client.Providers(c.Context())
	if err != nil {
		return modelresolver.Catalog{}, err
	}
	catalog, err := modelresolver.ParseCatalog(raw)
	if err != nil {
		return modelresolver.Catalog{}, err
	}
	s, err := setup.New()
	if err != nil {
		return modelresolver.Catalog{}, err
	}
	prices, err := pricebook.Load(s.FetchedPrices())
	if err != nil {
		c.PrintErrln("coleo: note:", err)
	}
	return pricebook.New(s.OwnPrices(), prices, pricebook.BuiltIn()).Fill(catalog), nil
}

func printChoice(c *cobra.Command, choice modelresolver.Choice) error {
	if choice.Fallback {
		fmt.Fprintln(c.ErrOrStderr(), choice.Reason)
	}
	if verb.WantsJSON(c) {
		return verb.PrintJSON(c, choice)
	}
	_, err := fmt.Fprintf(c.OutOrStdout(), "%s/%s\n", choice.ProviderID, choice.ModelID)
	return err
}
