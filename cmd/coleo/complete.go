package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/cmd/coleo/arm"
	"coleo.dev/cmd/coleo/fanout"
	"coleo.dev/cmd/coleo/installed"
	runverbs "coleo.dev/cmd/coleo/run"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/template"
	triggerverbs "coleo.dev/cmd/coleo/trigger"
	"coleo.dev/cmd/coleo/workspace"
	"coleo.dev/modelresolver"
)

// completeTimeout is the longest time that a shell waits for completions after the user has pressed
// TAB.
const completeTimeout = 2 * time.Second

// offer is a function that returns completions to a shell. `begun` is the part of the word that the user has
// already typed.
type offer = func(c *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective)

// completeAll adds completions for the arguments and flags of a verb and of all verbs below it. It selects
// the completions by the names of verbs and flags, so most new verbs need no change here.
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
	if words, ok := namedThings()[parentName(c)+" "+c.Name()]; ok && c.ValidArgsFunction == nil {
		c.ValidArgsFunction = completeArgs(words)
	}
	for name, words := range map[string]func(context.Context, setup.Setup) []string{
		"harness": harnessNames, "to": harnessNames, "state": arm.StateNames, "model": modelNames, "agent": hostNames,
		"host":     hostNames,
		"template": template.Names, "arm": arm.Names, "kind": runverbs.KindNames, "outcome": runverbs.OutcomeNames,
	} {
		if c.Flags().Lookup(name) != nil {
			// The error is ignored: it means that the flag already has a completion, which stays.
			_ = c.RegisterFlagCompletionFunc(name, completeWith(words))
		}
	}
}

// takesArm reports whether the first argument of a verb is the name of an arm.
func takesArm(c *cobra.Command) bool {
	below := c.HasParent() && (c.Parent().Name() == "arm" || c.Name() == "audit")
	return below && strings.Contains(c.Use, "NAME")
}

// wordsAfter returns the completions for the next argument. Its last parameter contains the
// arguments that are already typed.
type wordsAfter = func(ctx context.Context, s setup.Setup, before []string) []string

// namedThings returns the completions of the verbs whose arguments are not arms. A key is the name of the
// verb's parent, a blank and the name of the verb, such as "workspace restore".
func namedThings() map[string]wordsAfter {
	out := map[string]wordsAfter{"fan-out keep": fanout.ArgsOfKeep, "fan-out show": onlyFirst(fanout.IDs),
		"workspace restore": onlyFirst(workspace.KeptNames), "workspace remove": onlyFirst(workspace.Names)}
	for _, kind := range triggerverbs.Kinds {
		names := onlyFirst(func(ctx context.Context, s setup.Setup) []string { return triggerverbs.Names(ctx, s, kind) })
		for _, name := range []string{"show", "remove", "history", "run-now"} {
			out[string(kind)+" "+name] = names
		}
	}
	return out
}

// onlyFirst returns the given completions for the first argument, and none for later arguments.
func onlyFirst(words func(context.Context, setup.Setup) []string) wordsAfter {
	return func(ctx context.Context, s setup.Setup, before []string) []string {
		if len(before) > 0 {
			return nil
		}
		return words(ctx, s)
	}
}

func parentName(c *cobra.Command) string {
	if !c.HasParent() {
		return ""
	}
	return c.Parent().Name()
}

// completeWith returns an offer with those of the given words that begin with what the user has already typed.
func completeWith(words func(context.Context, setup.Setup) []string) offer {
	return completeArgs(func(ctx context.Context, s setup.Setup, _ []string) []string { return words(ctx, s) })
}

// completeArgs is like completeWith, but the words may depend on the arguments that the user has already typed.
func completeArgs(words wordsAfter) offer {
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
		out := slices.DeleteFunc(words(ctx, s, args), func(word string) bool { return !strings.HasPrefix(word, begun) })
		return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

func harnessNames(_ context.Context, s setup.Setup) []string {
	reg, err := installed.Registry(s)
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
