// Package memo contains the verb "arm memo".
package memo

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/api/apiclient"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/verb"
	"coleo.dev/wire"
)

const help = `Show or change the memo of an arm: a JSON value that people and programs keep with
it, such as the progress of its work. Coleo itself does not use the memo, and the
agent CLI does not see it. The memo is kept until the arm is removed.

  get         print the value (the default)
  set JSON    replace the value
  patch JSON  replace the keys of JSON in the value; null removes a key

For JSON, - means standard input. If the arm was started with --state-schema, a
value that does not fit the schema is refused, and the memo does not change.`

// Command returns the verb "arm memo".
func Command() *cobra.Command {
	return &cobra.Command{
		Use:     "memo NAME [get|set JSON|patch JSON]",
		Aliases: []string{"state"},
		Short:   "Show or change the JSON value that is kept with an arm",
		Long:    help,
		Example: `  coleo arm memo fix set '{"done": 0}'
  coleo arm memo fix patch '{"done": 1}'`,
		Args: check,
		RunE: setup.WithClient(func(c *cobra.Command, client *apiclient.Client, args []string) error {
			memo, err := run(c, client, args)
			if err != nil {
				return err
			}
			return verb.Say(c, text(memo), memo)
		}),
	}
}

func check(c *cobra.Command, args []string) error {
	switch {
	case len(args) == 1, len(args) == 2 && args[1] == "get",
		len(args) == 3 && (args[1] == "set" || args[1] == "patch"):
		return nil
	}
	return coleo.Errorf(coleo.EInvalid, "%s takes the name of an arm, and then get, set JSON or patch JSON",
		c.CommandPath())
}

func run(c *cobra.Command, client *apiclient.Client, args []string) (wire.Memo, error) {
	if len(args) < 3 {
		return client.Memo(c.Context(), args[0])
	}
	raw := []byte(args[2])
	if args[2] == "-" {
		var err error
		if raw, err = io.ReadAll(io.LimitReader(c.InOrStdin(), wire.MaxMemo+1)); err != nil {
			return wire.Memo{}, err
		}
	}
	switch {
	case len(raw) > wire.MaxMemo:
		return wire.Memo{}, coleo.Errorf(coleo.EInvalid, "the JSON has more than %d bytes: nothing was changed", wire.MaxMemo)
	case !json.Valid(raw):
		return wire.Memo{}, coleo.Errorf(coleo.EInvalid, "what follows %s is not JSON: nothing was changed", args[1])
	case args[1] == "set":
		return client.SetMemo(c.Context(), args[0], raw)
	}
	return client.PatchMemo(c.Context(), args[0], raw)
}

// text returns the memo in several lines, for people.
func text(m wire.Memo) string {
	if len(m.Value) == 0 {
		return "No memo."
	}
	var b bytes.Buffer
	if json.Indent(&b, m.Value, "", "  ") != nil {
		return string(m.Value)
	}
	return b.String()
}
