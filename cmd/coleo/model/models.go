package model

import (
	"fmt"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/api"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/verb"
	"coleo.dev/modelresolver"
)

func newModelsCommand() *cobra.Command {
	c := verb.Group("models", "List models, and show which one a request resolves to")
	c.AddCommand(newModelsListCommand(), newModelsLoginsCommand(), newModelsResolveCommand())
	return c
}

func newModelsListCommand() *cobra.Command {
	var file string
	c := &cobra.Command{
		Use:   "list",
		Short: "List the available models, the cheapest first",
		Args:  verb.Exactly(0, "no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			catalog, err := readCatalog(c, file)
			if err != nil {
				return err
			}
			return printOffers(c, modelresolver.AvailableByCost(catalog))
		},
	}
	catalogFlag(c, &file)
	return c
}

func newModelsLoginsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "logins",
		Short: "Show where a key or a login is present, and which models arms have",
		Long: `Show where a key or a login is present, and which models arms have.

Coleo looks for the names of variables and for files. It reads no file, prints
no value, and does not try whether a model server accepts the login.`,
		Args: verb.Exactly(0, "no arguments"),
		RunE: setup.WithClient(func(c *cobra.Command, client *api.Client, _ []string) error {
			models, err := client.Models(c.Context())
			if err != nil {
				return err
			}
			if verb.WantsJSON(c) {
				return verb.PrintJSON(c, models)
			}
			w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "HARNESS\tHOST\tLOGGED IN\tBY")
			for _, l := range models.Logins {
				by := strings.Join(append(l.Env, l.Files...), ", ")
				fmt.Fprintf(w, "%s\t%s\t%t\t%s\n", l.Harness, l.Host, l.LoggedIn, by)
			}
			for _, m := range models.Models {
				if m.Uses > 0 {
					fmt.Fprintf(w, "%d arms\t\t\t%s\n", m.Uses, coleo.ModelName(m.Provider, m.Model))
				}
			}
			return w.Flush()
		}),
	}
}

func newModelsResolveCommand() *cobra.Command {
	var file, provider, model string
	c := &cobra.Command{
		Use:   "resolve [PROVIDER/MODEL]",
		Short: "Show which model a request resolves to",
		Long: `Show which model a request resolves to.

If the requested model is not available, this prints the one that Coleo takes
instead, and the reason on standard error.`,
		Example: `  coleo models resolve PROVIDER/MODEL
  coleo models resolve --provider PROVIDER --model MODEL`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			if err := oneWish(c, args, &model); err != nil {
				return err
			}
			catalog, err := readCatalog(c, file)
			if err != nil {
				return err
			}
			return printResolution(c, modelresolver.Resolve(catalog, provider, model))
		},
	}
	catalogFlag(c, &file)
	c.Flags().StringVar(&provider, "provider", "", "`ID` of the provider")
	c.Flags().StringVar(&model, "model", "", "`ID` of the model, or PROVIDER/MODEL")
	return c
}

// oneWish checks that the user has named one model: either by an argument or by flags.
// If not, it returns EInvalid. If there is an argument, oneWish copies it to model.
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

// readCatalog reads the catalogue of models from a file. If file is "", it gets the
// catalogue from serve.
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

func askCatalog(c *cobra.Command) (modelresolver.Catalog, error) {
	s, err := setup.New()
	if err != nil {
		return modelresolver.Catalog{}, err
	}
	if err := s.ServeStopped(); err != nil {
		return modelresolver.Catalog{}, err
	}
	if !s.ServeAnswers(c.Context()) {
		return modelresolver.Catalog{}, coleo.Errorf(coleo.EUnavailable,
			"Coleo does not run here: start it with 'coleo up', or name a file with --catalog")
	}
	client, err := s.Client()
	if err != nil {
		return modelresolver.Catalog{}, err
	}
	raw, err := client.Providers(c.Context())
	if err != nil {
		return modelresolver.Catalog{}, err
	}
	return modelresolver.ParseCatalog(raw)
}

func printOffers(c *cobra.Command, offers []modelresolver.Offer) error {
	if verb.WantsJSON(c) {
		if offers == nil {
			offers = []modelresolver.Offer{}
		}
		return verb.PrintJSON(c, offers)
	}
	w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "MODEL\tNAME\t$/M IN\t$/M OUT\tPRICE FROM")
	for _, o := range offers {
		fmt.Fprintf(w, "%s/%s\t%s\t%g\t%g\t%s\n", o.ProviderID, o.ModelID, o.ModelName, o.Cost.Input, o.Cost.Output,
			o.Source)
	}
	return w.Flush()
}

func printResolution(c *cobra.Command, r modelresolver.Resolution) error {
	if r.Fallback {
		fmt.Fprintln(c.ErrOrStderr(), r.Reason)
	}
	if verb.WantsJSON(c) {
		return verb.PrintJSON(c, r)
	}
	_, err := fmt.Fprintf(c.OutOrStdout(), "%s/%s\n", r.ProviderID, r.ModelID)
	return err
}
