package model

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/show"
	"coleo.dev/cmd/coleo/verb"
	"coleo.dev/modelresolver"
	"coleo.dev/pricebook"
	"coleo.dev/wire"
)

// listFlags contains the flags of models list.
type listFlags struct {
	file    string
	harness string
	all     bool
}

func newModelsListCommand() *cobra.Command {
	var f listFlags
	c := &cobra.Command{
		Use:   "list",
		Short: "List the models of all agent CLIs, with their prices",
		Long: `List the models of all agent CLIs, with their prices in US dollars per million
tokens: of input, output, cache reads and cache writes. This also shows the source
and the date of each price.

Without --all, this lists the models of agent CLIs that are installed and to which
you are logged in, and the models of arms. --catalog lists the models in a file, the
cheapest first.`,
		Args: verb.Exactly(0, "no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			if f.file != "" {
				catalog, err := readCatalog(c, f.file)
				if err != nil {
					return err
				}
				return printOffers(c, modelresolver.AvailableByCost(catalog))
			}
			client, err := serveClient(c)
			if err != nil {
				return err
			}
			models, err := client.Models(c.Context())
			if err != nil {
				return err
			}
			if f.harness != "" && !slices.ContainsFunc(models.Models, f.isOffered) {
				if err := setup.CheckHarnessNames(c.Context(), client, f.harness); err != nil {
					return err
				}
			}
			return f.print(c, models)
		},
	}
	catalogFlag(c, &f.file)
	c.Flags().StringVar(&f.harness, "harness", "", "only the models of this harness (`NAME`)")
	c.Flags().BoolVar(&f.all, "all", false, "also the models to which you are not logged in")
	return c
}

// isOffered reports whether the harness in the flags offers a model.
func (f listFlags) isOffered(m wire.Model) bool { return slices.Contains(m.Harnesses, f.harness) }

// print prints the models that the flags select.
func (f listFlags) print(c *cobra.Command, models wire.Models) error {
	models.Models = slices.DeleteFunc(models.Models, func(m wire.Model) bool {
		return f.harness != "" && !f.isOffered(m) ||
			f.harness == "" && !f.all && m.Uses == 0 && loginFor(m, models.Logins) == loginMissing
	})
	if verb.WantsJSON(c) {
		return verb.PrintJSON(c, models)
	}
	if models.Missing != "" {
		c.PrintErrln("coleo: note: the catalogue is not in the list:", models.Missing)
	}
	if len(models.Models) == 0 {
		_, err := fmt.Fprintln(c.OutOrStdout(), "No models: --all lists those to which you are not logged in, too.")
		return err
	}
	w := show.NewTable(c)
	fmt.Fprintln(w, "MODEL\tHARNESSES\tLOGGED IN\tARMS\t$/M IN\t$/M OUT\tREAD\tWRITE\tPRICE FROM")
	for _, m := range models.Models {
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\n", coleo.ModelName(m.Provider, m.Model), orDash(strings.Join(m.Harnesses, ",")),
			loginFor(m, models.Logins), m.Uses, priceCells(m.Price))
	}
	return w.Flush()
}

// These are the values of the column LOGGED IN.
const (
	loginThere    = "yes"
	loginMissing  = "no"
	loginNeedless = "not needed"
)

// loginFor returns "yes" if the user can use a model, and "no" if a login is missing. It returns "not needed"
// for a model that is free for everybody. OpenCode, for example, offers free models of its own provider. For
// such a provider, the catalogue sets Connected although nobody has logged in, so loginFor also looks at the
// price.
func loginFor(m wire.Model, logins []coleo.Login) string {
	for _, l := range logins {
		if l.LoggedIn && slices.Contains(m.Harnesses, l.Harness) {
			return loginThere
		}
	}
	switch {
	case !m.Connected:
		return loginMissing
	case m.Price != nil && m.Price.Input == 0 && m.Price.Output == 0:
		return loginNeedless
	}
	return loginThere
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

func priceCells(p *coleo.Price) string {
	if p == nil {
		return "?\t?\t?\t?\t" + string(coleo.PriceUnknown)
	}
	return fmt.Sprintf("%g\t%g\t%g\t%g\t%s", p.Input, p.Output, p.CacheRead, p.CacheWrite,
		strings.TrimSpace(string(p.Source)+" "+p.Date))
}

func printOffers(c *cobra.Command, offers []modelresolver.Offer) error {
	if verb.WantsJSON(c) {
		if offers == nil {
			offers = []modelresolver.Offer{}
		}
		return verb.PrintJSON(c, offers)
	}
	w := show.NewTable(c)
	fmt.Fprintln(w, "MODEL\tNAME\t$/M IN\t$/M OUT\tPRICE FROM")
	for _, o := range offers {
		in, out := fmt.Sprintf("%g", o.Cost.Input), fmt.Sprintf("%g", o.Cost.Output)
		if o.Source == coleo.PriceUnknown {
			in, out = "?", "?"
		}
		fmt.Fprintf(w, "%s/%s\t%s\t%s\t%s\t%s\n", o.ProviderID, o.ModelID, o.ModelName, in, out, o.Source)
	}
	return w.Flush()
}

// refreshOutput is the JSON output of models refresh.
type refreshOutput struct {
	Models int    `json:"models"` // how many models have a price
	URL    string `json:"url"`
	File   string `json:"file"`
}

func newModelsRefreshCommand() *cobra.Command {
	var address string
	c := &cobra.Command{
		Use:   "refresh",
		Short: "Fetch prices from the address that config.toml names",
		Long: `Fetch prices from the address that config.toml names as prices_url below [models].
Without that key, and without --url, this fetches nothing.

The server must send a document in the form of https://models.dev/api.json. If
anything goes wrong, the prices are as before. Serve uses new prices at once.`,
		Args: verb.Exactly(0, "no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := setup.New()
			if err != nil {
				return err
			}
			if address == "" {
				address = s.Models.PricesURL
			}
			if address == "" {
				return coleo.Errorf(coleo.EInvalid, "nothing was fetched: name an address as "+
					"prices_url below [models] in %s, or with --url", s.File())
			}
			if err := s.Ensure(); err != nil {
				return err
			}
			n, err := pricebook.Refresh(c.Context(), http.DefaultClient, address, s.FetchedPrices(), time.Now())
			if err != nil {
				return err
			}
			return verb.Say(c, fmt.Sprintf("%d models have a price now, from %s", n, address), refreshOutput{n, address,
				s.FetchedPrices()})
		},
	}
	c.Flags().StringVar(&address, "url", "", "`URL` of the document (default: that in config.toml)")
	return c
}
