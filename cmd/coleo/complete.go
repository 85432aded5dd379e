package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/cmd/coleo/arm"
	runverbs "coleo.dev/cmd/coleo/run"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/template"
	"coleo.dev/modelresolver"
)

// completeTimeout is the longest time that a shell waits for completions after the user has pressed
// TAB.
const completeTimeout = 2 * time.Second

// offer is a function that returns completions to a shell, for the text that the user has already
// typed.
type offer = func(c *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective)

// completeAll adds completions for the arguments and the flags of a verb, and of all verbs below
// that verb. It chooses the completions by the names of verbs and flags. So a new verb needs no
// change in completeAll.
func completeAll(c *cobra.Command) {
	for _, below := range c.Commands() {
		completeAll(below)
	}
	if c.ValidArgsFunction == nil && takesArm(c) {
		c.ValidArgsFunction = completeWith(arm.Names)
	}
	if c.ValidArgsFunction == nil && c.HasParent() && c.Parent().Name() == "harness" {
		c.ValidArgsFunction = completeWith(harnessNames)
	}
	if c.ValidArgsFunction == nil && strings.Contains(c.Use, " TEMPLATE") {
		c.ValidArgsFunction = completeWith(template.Names)
	}
	if c.ValidArgsFunction == nil && c.HasParent() && c.Parent().Name() == "run" {
		if c.ValidArgsFunction = completeWith(runverbs.IDs); c.Name() == "list" {
			c.ValidArgsFunction = completeWith(arm.Names)
		}
	}
	for name, words := range map[string]func(context.Context, setup.Setup) []string{
		"harness": harnessNames, "to": harnessNames, "state": arm.StateNames, "model": modelNames, "agent": hostNames,
		"host":     hostNames,
		"template": template.Names, "arm": arm.Names, "kind": runverbs.KindNames, "outcome": runverbs.OutcomeNames,
	} {
		if c.Flags().Lookup(name) != nil {
			// RegisterFlagCompletionFunc returns an error if the flag already has a completion.
			_ = c.RegisterFlagCompletionFunc(name, completeWith(words))
		}
	}
}

// takesArm reports whether the first argument of a verb is the name of an arm.
func takesArm(c *cobra.Command) bool {
	below := c.HasParent() && (c.Parent().Name() == "arm" || c.Name() == "audit")
	return below && strings.Contains(c.Use, "NAME")
}

// completeWith returns an offer. The offer returns the words that begin with the text that the user
// has already typed.
func completeWith(words func(context.Context, setup.Setup) []string) offer {
	return func(c *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 && !strings.Contains(c.Use, "NAME...") && !strings.HasPrefix(begun, "-") && takesArm(c) {
			return nil, cobra.ShellCompDirectiveNoFileComp // only the first argument is the name of an arm
		}
		s, err := setup.New()
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		ctx, cancel := context.WithTimeout(c.Context(), completeTimeout)
		defer cancel()
		out := slices.DeleteFunc(words(ctx, s), func(word string) bool { return !strings.HasPrefix(word, begun) })
		return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

func harnessNames(_ context.Context, s setup.Setup) []string {
	reg, err := s.Registry()
	if err != nil {
		return nil
	}
	return reg.List()
}

func modelNames(ctx context.Context, s setup.Setup) []string {
	out := []string{cobra.CompletionWithDesc(coleo.ModelScripted, "a program that answers in place of a model")}
	client, err := s.Client()
	if err != nil {
		return out
	}
	raw, err := client.Providers(ctx)
	if err != nil {
		return out
	}
	catalog, err := modelresolver.ParseCatalog(raw)
	if err != nil {
		return out
	}
	for _, o := range modelresolver.AvailableByCost(catalog) {
		out = append(out, o.ProviderID+"/"+o.ModelID)
	}
	return out
}

func hostNames(ctx context.Context, s setup.Setup) []string {
	client, err := s.Client()
	if err != nil {
		return nil
	}
	hosts, err := client.Hosts(ctx)
	if err != nil {
		return nil
	}
	var out []string
	for _, h := range hosts {
		out = append(out, h.ID)
	}
	return out
}
