package setup

import (
	"context"
	"slices"

	"coleo.dev"
	"coleo.dev/api"
)

// KnowHarnesses returns ENotFound if one of the names is not the name of a harness. A verb that filters
// by harness calls it if nothing matches, because arms can also have a harness that was removed.
func KnowHarnesses(ctx context.Context, client *api.Client, names ...string) error {
	list, err := client.Harnesses(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		if name != "" && !slices.ContainsFunc(list, func(i coleo.Info) bool { return i.Name == name }) {
			return coleo.Errorf(coleo.ENotFound, "there is no harness %q: 'coleo harness list' lists them", name)
		}
	}
	return nil
}
