package verb

import (
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"coleo.dev"
)

// wantedValues describes for people which values a flag takes. The keys are cobra's names for the
// types of flags.
var wantedValues = map[string]string{
	"duration": "a number with a unit, such as 30s or 5m",
	"int":      "a whole number",
	"int64":    "a whole number",
	"uint64":   "a whole number",
	"float64":  "a number",
	"bool":     "true or false",
}

// badValue matches cobra's error about a bad value of a flag.
var badValue = regexp.MustCompile(`(?s)^invalid argument "(.*)" for "(?:-., )?--([^"]+)" flag: .*$`)

// FlagError rewrites cobra's error about a flag for people, and gives it the code EInvalid.
func FlagError(c *cobra.Command, err error) error {
	text := err.Error()
	if m := badValue.FindStringSubmatch(text); m != nil {
		if f := c.Flags().Lookup(m[2]); f != nil && wantedValues[f.Value.Type()] != "" {
			text = "--" + m[2] + " takes " + wantedValues[f.Value.Type()] + ", not \"" + m[1] + "\""
		}
	}
	return coleo.Errorf(coleo.EInvalid, "%s (see %s --help)", text, c.CommandPath())
}

// exclusive matches cobra's error about flags that exclude each other.
var exclusive = regexp.MustCompile(
	`^if any flags in the group \[.*\] are set none of the others can be; \[(.*)\] were all set$`)

// inWords rewrites an error for people if it comes from cobra itself.
func inWords(err error) error {
	m := exclusive.FindStringSubmatch(err.Error())
	if m == nil {
		return err
	}
	flags := "--" + strings.Join(strings.Fields(m[1]), " and --")
	return coleo.Errorf(coleo.EInvalid, "%s exclude each other: give one of them; nothing was done", flags)
}
