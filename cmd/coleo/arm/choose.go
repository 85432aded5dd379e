package arm

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"coleo.dev"
	"coleo.dev/api/apiclient"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/verb"
)

// pickArm asks the user to choose an arm. Without a terminal, or with --json, it returns the error
// for a missing name instead.
func pickArm(c *cobra.Command, client *apiclient.Client) (string, error) {
	missing := coleo.Errorf(coleo.EInvalid, "%s takes the name of an arm (see %s --help)",
		c.CommandPath(), c.CommandPath())
	in, ok := c.InOrStdin().(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) || verb.WantsJSON(c) {
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

// askWhich shows a numbered list of arms. It reads a number or a name from the user,
// and returns the name of the arm that the user has chosen.
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

// Names returns the names of all arms, most urgent first.
func Names(ctx context.Context, s setup.Setup) []string {
	client, err := s.Client()
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

// StateNames returns the allowed values of the flag --state of arm list.
func StateNames(context.Context, setup.Setup) []string {
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
