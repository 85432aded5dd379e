package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/api/apiclient"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/show"
	"coleo.dev/cmd/coleo/verb"
	"coleo.dev/wire"
)

// valueNote is a note that is printed with the value of a new token.
const valueNote = "(keep it secret; Coleo does not show it again)"

func newTokenCommand() *cobra.Command {
	c := verb.Group("token", "Let programs command Coleo within bounds: operator tokens")
	c.AddCommand(newTokenCreateCommand(), newTokenListCommand(), newTokenRevokeCommand())
	return c
}

func newTokenCreateCommand() *cobra.Command {
	var scopes, arms, labels []string
	var expires, runsIn string
	c := &cobra.Command{
		Use:   "create TOKEN",
		Short: "Make an operator token, and print its value once",
		Long: `Make an operator token with this name, and print its value. Coleo keeps only a
hash of the value, so it is shown once.

A program that shows the value can command Coleo within the token's scopes:
  read     lists, screens, events, runs
  prompt   prompts, the queue, interrupting
  spawn    starting and ending arms
  approve  answers to dialogs and questions, another mode

Without --scope, the token has read and prompt. With --arm, it reaches only the
arms that you name, and starts no new ones. With --label, it reaches only the arms
that have all of the labels, and an arm that it starts gets them. With --runs-in, a
program inside that arm can use it.

No token answers for the arm in which it runs, for a parent or child of that arm,
or for an arm that it has prompted or started. No token makes or revokes tokens,
types keys by hand, removes arms or changes labels.`,
		Args: verb.Exactly(1, "the name of the new token"),
		RunE: setup.WithClient(func(c *cobra.Command, client *apiclient.Client, args []string) error {
			q := wire.TokenRequest{Name: args[0], Arms: arms, RunsIn: runsIn}
			for _, s := range scopes {
				q.Scopes = append(q.Scopes, coleo.TokenScope(strings.TrimSpace(s)))
			}
			var err error
			if q.Labels, err = coleo.ParseLabels(labels); err != nil {
				return err
			}
			if expires != "" {
				life, err := parseDays(expires)
				if err != nil {
					return err
				}
				q.Expires = time.Now().Add(life).UTC()
			}
			made, err := client.CreateToken(c.Context(), q)
			if err != nil {
				return err
			}
			if verb.WantsJSON(c) {
				return verb.PrintJSON(c, made)
			}
			if _, err := fmt.Fprintln(c.OutOrStdout(), made.Value); err != nil {
				return err
			}
			_, err = fmt.Fprintf(c.ErrOrStderr(), "token %s: %s, until %s\n%s\n", made.Token.Name, scopeWords(made.Token),
				made.Token.Expires.Local().Format(time.DateTime), valueNote)
			return err
		}),
	}
	c.Flags().StringSliceVar(&scopes, "scope", nil,
		"`SCOPES` separated by commas: read, prompt, spawn, approve (default read,prompt)")
	c.Flags().StringSliceVar(&arms, "arm", nil, "`NAMES` of the only arms that the token reaches (default: all)")
	c.Flags().StringSliceVar(&labels, "label", nil, "`LABELS` (KEY=VALUE) of the only arms that the token reaches")
	c.Flags().StringVar(&runsIn, "runs-in", "", "`NAME` of the arm in which the program with the token runs")
	c.Flags().StringVar(&expires, "expires", "", "`TIME` for which the token is valid, such as 30d or 12h (default 90d)")
	return c
}

// parseDays parses a duration such as 30d, 12h or 90m.
func parseDays(text string) (time.Duration, error) {
	if number, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseUint(number, 10, 16); err == nil {
			return time.Duration(n) * 24 * time.Hour, nil
		}
	} else if d, err := time.ParseDuration(text); err == nil {
		return d, nil
	}
	return 0, coleo.Errorf(coleo.EInvalid, "--expires %q is not a time such as 30d or 12h", text)
}

func newTokenListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the operator tokens, without their values",
		Args:  verb.Exactly(0, "no arguments"),
		RunE: setup.WithClient(func(c *cobra.Command, client *apiclient.Client, _ []string) error {
			tokens, err := client.Tokens(c.Context())
			if err != nil {
				return err
			}
			if verb.WantsJSON(c) {
				return verb.PrintJSON(c, map[string]any{"tokens": tokens})
			}
			return printTokens(c, tokens, time.Now())
		}),
	}
}

func printTokens(c *cobra.Command, tokens []coleo.OperatorToken, now time.Time) error {
	if len(tokens) == 0 {
		_, err := fmt.Fprintln(c.OutOrStdout(), "No tokens. 'coleo token create' makes one.")
		return err
	}
	w := show.NewTable(c)
	fmt.Fprintln(w, "TOKEN\tSCOPES\tARMS\tEXPIRES\tLAST USED")
	for _, t := range tokens {
		expires, used, arms := t.Expires.Local().Format(time.DateTime), "", "all"
		if len(t.Arms) > 0 {
			arms = strings.Join(slices.Sorted(maps.Values(t.Arms)), ",")
		}
		if len(t.Labels) > 0 {
			arms += " with " + t.Labels.String()
		}
		if !now.Before(t.Expires) {
			expires = "expired"
		}
		if !t.Used.IsZero() {
			used = t.Used.Local().Format(time.DateTime)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", t.Name, scopeWords(t), arms, expires, show.OrDash(used))
	}
	return w.Flush()
}

func scopeWords(t coleo.OperatorToken) string {
	words := make([]string, len(t.Scopes))
	for i, s := range t.Scopes {
		words[i] = string(s)
	}
	return strings.Join(words, ",")
}

func newTokenRevokeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "revoke TOKEN",
		Short: "Revoke an operator token; its open streams end at once",
		Args:  verb.Exactly(1, "the name of one token (see 'coleo token list')"),
		RunE: setup.WithClient(func(c *cobra.Command, client *apiclient.Client, args []string) error {
			if err := client.RevokeToken(c.Context(), args[0]); err != nil {
				return err
			}
			return verb.Say(c, "revoked: "+args[0], map[string]bool{"revoked": true})
		}),
	}
}
