package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"coleo.dev"
	"coleo.dev/api"
	"coleo.dev/modelresolver"
)

// completeTimeout bounds how long a shell waits for completions after TAB.
const completeTimeout = 2 * time.Second

// offer is a function that returns completions to a shell.
type offer = func(c *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective)

// completeAll adds completions for the names that verbs and flags take. It recognises
// them by their own names, so a new verb needs no change here.
func completeAll(c *cobra.Command) {
	for _, below := range c.Commands() {
		completeAll(below)
	}
	if c.ValidArgsFunction == nil && takesArm(c) {
		c.ValidArgsFunction = completeWith(armNames)
	}
	if c.ValidArgsFunction == nil && c.HasParent() && c.Parent().Name() == "harness" {
		c.ValidArgsFunction = completeWith(harnessNames)
	}
	for name, words := range map[string]func(context.Context, setup) []string{
		"harness": harnessNames, "state": stateWords, "model": modelNames, "agent": hostNames, "host": hostNames,
	} {
		if c.Flags().Lookup(name) != nil {
			_ = c.RegisterFlagCompletionFunc(name, completeWith(words)) // fails for a flag that already has a completion
		}
	}
}

// takesArm reports whether a verb's argument is the name of an arm.
func takesArm(c *cobra.Command) bool {
	below := c.HasParent() && (c.Parent().Name() == "arm" || c.Name() == "audit")
	return below && strings.Contains(c.Use, "NAME")
}

// completeWith returns an offer of the words that start with the typed text.
func completeWith(words func(context.Context, setup) []string) offer {
	return func(c *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 && !strings.Contains(c.Use, "NAME...") && !strings.HasPrefix(begun, "-") && takesArm(c) {
			return nil, cobra.ShellCompDirectiveNoFileComp // the arguments after the name are not arms
		}
		s, err := newSetup()
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		ctx, cancel := context.WithTimeout(c.Context(), completeTimeout)
		defer cancel()
		out := slices.DeleteFunc(words(ctx, s), func(word string) bool { return !strings.HasPrefix(word, begun) })
		return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

// armNames returns the names of all arms, most urgent first.
func armNames(ctx context.Context, s setup) []string {
	client, err := s.client()
	if err != nil {
		return nil
	}
	list, err := client.Arms(ctx, true)
	if err != nil {
		return nil
	}
	pick, err := listFlags{all: true, sort: "need"}.picker()
	if err != nil {
		return nil
	}
	var out []string
	for _, arm := range pick(list) {
		out = append(out, cobra.CompletionWithDesc(arm.Name, needWord(arm)))
	}
	return out
}

func harnessNames(_ context.Context, s setup) []string {
	reg, err := s.registry()
	if err != nil {
		return nil
	}
	return reg.List()
}

func stateWords(context.Context, setup) []string {
	var out []string
	for _, need := range coleo.Needs() {
		out = append(out, needFlag(need))
	}
	for _, state := range coleo.States() {
		if !slices.Contains(out, string(state)) {
			out = append(out, string(state))
		}
	}
	return out
}

func modelNames(ctx context.Context, s setup) []string {
	out := []string{cobra.CompletionWithDesc(coleo.ModelScripted, "a program that answers in place of a model")}
	client, err := s.client()
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

func hostNames(ctx context.Context, s setup) []string {
	client, err := s.client()
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

// noArm matches an error about a missing arm, and finds the arm's name.
var noArm = regexp.MustCompile(`no arm called "([^"]+)"`)

// didYouMean adds the most similar name to an error about a missing arm.
func didYouMean(ctx context.Context, client *api.Client, err error) error {
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

// nearest returns the word that was probably meant, or "" if none is similar. It uses the
// search for similar verbs of the command line.
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

// pickArm asks the user at a terminal to choose an arm. Elsewhere it returns the error
// for a missing name.
func pickArm(c *cobra.Command, client *api.Client) (string, error) {
	missing := coleo.Errorf(coleo.EInvalid, "%s takes the name of an arm (see %s --help)",
		c.CommandPath(), c.CommandPath())
	in, ok := c.InOrStdin().(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) || wantsJSON(c) {
		return "", missing
	}
	list, err := client.Arms(c.Context(), true)
	if err != nil {
		return "", err
	}
	if len(list) == 0 {
		return "", coleo.Errorf(coleo.ENotFound, "there are no arms: 'coleo arm spawn' starts one")
	}
	pick, err := listFlags{all: true, sort: "need"}.picker()
	if err != nil {
		return "", err
	}
	return askWhich(c, pick(list))
}

// askWhich shows numbered arms, and returns the name that the user chooses by number or
// name.
func askWhich(c *cobra.Command, arms []coleo.Arm) (string, error) {
	for i, arm := range arms {
		fmt.Fprintf(c.ErrOrStderr(), "%3d  %s  (%s)\n", i+1, arm.Name, needWord(arm))
	}
	fmt.Fprint(c.ErrOrStderr(), "which arm? ")
	line, err := bufio.NewReader(c.InOrStdin()).ReadString('\n')
	word := strings.TrimSpace(line)
	if err != nil || word == "" {
		return "", coleo.Errorf(coleo.EInvalid, "no arm was chosen")
	}
	if n, err := strconv.Atoi(word); err == nil && n >= 1 && n <= len(arms) {
		return arms[n-1].Name, nil
	}
	return word, nil
}
