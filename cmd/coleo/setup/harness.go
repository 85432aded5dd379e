package setup

import (
	"context"
	"errors"
	"regexp"
	"slices"

	"coleo.dev"
	"coleo.dev/api/apiclient"
)

// CheckHarnessNames returns ENotFound if one of the names is not the name of a harness. A verb that filters
// by harness should call it only if nothing matches, because arms can also have a harness that was removed.
func CheckHarnessNames(ctx context.Context, client *apiclient.Client, names ...string) error {
	list, err := client.Harnesses(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		if name != "" && !slices.ContainsFunc(list, func(i coleo.Info) bool { return i.Name == name }) {
			return coleo.Errorf(coleo.ENotFound, "there is no harness %q%s: 'coleo harness list' lists them", name,
				NearHarness(list, name))
		}
	}
	return nil
}

// NearHarness returns a text that asks whether the user meant the harness with the most similar name. It
// returns "" if no name is similar.
func NearHarness(list []coleo.Info, typed string) string {
	names := make([]string, len(list))
	for i, info := range list {
		names[i] = info.Name
	}
	if near := nearest(names, typed); near != "" {
		return " (did you mean " + near + "?)"
	}
	return ""
}

// unknownHarness matches the error of a start for a harness that does not exist.
var unknownHarness = regexp.MustCompile(`^Unknown harness: (\S+)`)

// SuggestHarness adds a suggestion to the error for an unknown harness. It returns any other error
// unchanged.
func SuggestHarness(ctx context.Context, client *apiclient.Client, err error) error {
	var e *coleo.Error
	if !errors.As(err, &e) {
		return err
	}
	unknown := unknownHarness.FindStringSubmatch(e.Message)
	if unknown == nil {
		return err
	}
	list, listErr := client.Harnesses(ctx)
	if listErr != nil {
		return err
	}
	better := *e
	better.Message += NearHarness(list, unknown[1])
	return &better
}
