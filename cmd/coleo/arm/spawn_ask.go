package arm

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"coleo.dev"
	"coleo.dev/api/apiclient"
	"coleo.dev/armname"
	"coleo.dev/cmd/coleo/verb"
	"coleo.dev/wire"
)

// asksUser reports whether 'coleo arm spawn' asks the user for the missing values. It does so if
// the user has given no flag and uses a terminal.
func asksUser(c *cobra.Command) bool {
	in, isFile := c.InOrStdin().(*os.File)
	return isFile && c.Flags().NFlag() == 0 && !verb.WantsJSON(c) && term.IsTerminal(int(in.Fd()))
}

// questions asks a user questions, one line at a time.
type questions struct {
	in        *bufio.Reader
	out       io.Writer
	installed func(coleo.Info) bool // reports whether a harness's agent CLI is installed on this machine
}

// askAll asks for the harness, the name, the work folder and the model of a new arm.
func (f *spawnFlags) askAll(ctx context.Context, q questions, client *apiclient.Client, defaultHarness string) error {
	list, err := client.Harnesses(ctx)
	if err != nil {
		return err
	}
	if f.q.Harness, err = q.harness(list, defaultHarness); err != nil {
		return err
	}
	name, err := freeName(ctx, client)
	if err != nil {
		return err
	}
	for ask := true; ask; {
		if f.q.Name, err = q.line("name", name); err != nil {
			return err
		}
		if wrong := armname.Check(f.q.Name); wrong != nil {
			fmt.Fprintln(q.out, wrong)
		} else {
			ask = false
		}
	}
	for ask := true; ask; {
		if f.q.Workdir, err = q.line("work folder", "."); err != nil {
			return err
		}
		if info, wrong := os.Stat(f.q.Workdir); wrong != nil || !info.IsDir() {
			fmt.Fprintf(q.out, "%s is not a folder\n", f.q.Workdir)
		} else {
			ask = false
		}
	}
	f.q.Model, err = q.line("model (empty: the agent CLI's own; scripted: none)", "")
	return err
}

// harness asks which harness to use. The user answers with a number or a name. The default is the
// harness defaultName. If defaultName is empty, the default is the first harness whose agent CLI is
// installed.
func (q questions) harness(list []coleo.Info, defaultName string) (string, error) {
	list = slices.DeleteFunc(slices.Clone(list), func(i coleo.Info) bool { return i.Support == coleo.SupportDeclared })
	for i, info := range list {
		note := ""
		if !q.installed(info) {
			note = " (not installed)"
		} else if defaultName == "" {
			defaultName = info.Name
		}
		fmt.Fprintf(q.out, "%3d  %-14s %s%s\n", i+1, info.Name, info.Title, note)
	}
	for {
		word, err := q.line("harness", defaultName)
		if err != nil {
			return "", err
		}
		if n, err := strconv.Atoi(word); err == nil && n >= 1 && n <= len(list) {
			return list[n-1].Name, nil
		}
		if slices.ContainsFunc(list, func(i coleo.Info) bool { return i.Name == word }) {
			return word, nil
		}
		fmt.Fprintf(q.out, "there is no harness %q in this list\n", word)
	}
}

// line asks for one line. For an empty line, it returns the default answer. If the user ends the
// input, line returns EInvalid.
func (q questions) line(what, defaultAnswer string) (string, error) {
	if defaultAnswer != "" {
		what += " [" + defaultAnswer + "]"
	}
	fmt.Fprint(q.out, what+": ")
	text, err := q.in.ReadString('\n')
	if err != nil {
		return "", coleo.Errorf(coleo.EInvalid, "the input ended: nothing was started")
	}
	return cmp.Or(strings.TrimSpace(text), defaultAnswer), nil
}

// SayTrust prints a note if Coleo will edit a file of the agent CLI in the user's home folder. The edit
// makes the agent CLI trust the new arm's folder. `usual` is the harness of the arm if the request names
// none.
func SayTrust(c *cobra.Command, client *apiclient.Client, q wire.SpawnRequest, usual string) error {
	list, err := client.Harnesses(c.Context())
	if err != nil {
		return err
	}
	folder := q.Workdir
	if q.Worktree != nil {
		folder = "the arm's worktree"
	}
	for _, info := range list {
		if info.Name == cmp.Or(q.Harness, usual) && info.Trust != "" && q.Profile != coleo.ProfileHermetic {
			c.PrintErrf("coleo: note: %s's own file %s in your home folder will say that %s is trusted\n",
				info.Title, info.Trust, folder)
		}
	}
	return nil
}
