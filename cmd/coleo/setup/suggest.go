package setup

import (
	"context"
	"errors"
	"regexp"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/api/apiclient"
)

// noArm matches the error message for a missing arm. Its group captures the name of the arm.
var noArm = regexp.MustCompile(`no arm called "([^"]+)"`)

// didYouMean adds a suggestion to the error for a missing arm. It suggests the name of the most
// similar arm. It returns any other error unchanged.
func didYouMean(ctx context.Context, client *apiclient.Client, err error) error {
	var e *coleo.Error
	if coleo.ErrorCode(err) != coleo.ENotFound || !errors.As(err, &e) {
		return err
	}
	missing := noArm.FindStringSubmatch(err.Error())
	if missing == nil {
		return err
	}
	list, listErr := client.Arms(ctx, true)
	if listErr != nil {
		return err
	}
	names := make([]string, len(list))
	for i, arm := range list {
		names[i] = arm.Name
	}
	near := nearest(names, missing[1])
	if near == "" {
		return err
	}
	better := *e
	better.Message += "; did you mean " + near + "?"
	return &better
}

// nearest returns the word that is most similar to the word that the user has typed. It returns ""
// if no word is similar. It uses the function that cobra uses to suggest verbs.
func nearest(words []string, typed string) string {
	c := &cobra.Command{SuggestionsMinimumDistance: 2}
	for _, word := range words {
		c.AddCommand(&cobra.Command{Use: word, Run: func(*cobra.Command, []string) {}})
	}
	if found := c.SuggestionsFor(typed); len(found) > 0 {
		return found[0]
	}
	return ""
}
