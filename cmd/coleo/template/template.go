// Package template contains the verbs about templates of arms. It also fills in requests from
// templates.
package template

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/verb"
	"coleo.dev/policy/files"
	"coleo.dev/printable"
	"coleo.dev/template"
	"coleo.dev/wire"
)

// Command returns the verb "template".
func Command() *cobra.Command {
	c := verb.Group("template", "List, show and trust templates: files with values for the start of an arm")
	c.AddCommand(newListCommand(), newShowCommand(), newTrustCommand())
	return c
}

// Flags contains the flags with which a person chooses a template.
type Flags struct {
	Name string   // "" for none
	Args []string // NAME=VALUE
}

// AddFlags adds the flags --template and --arg to a verb that starts arms.
func (w *Flags) AddFlags(c *cobra.Command) {
	c.Flags().StringVar(&w.Name, "template", "", "`NAME` of the template that says what other flags leave out")
	c.Flags().StringArrayVar(&w.Args, "arg", nil, "argument of the template's prompt, as `NAME=VALUE`; repeatable")
}

// Fill adds the template's values to the request where the request has none. The request must
// already contain its work folder. If the template comes from a project and lets the arm do more
// than the defaults, Fill prints a note.
func (w Flags) Fill(c *cobra.Command, q *wire.SpawnRequest) error {
	if w.Name == "" && len(w.Args) > 0 {
		return coleo.Errorf(coleo.EInvalid, "--arg needs --template: nothing was started")
	}
	if w.Name == "" {
		return nil
	}
	args, err := template.ParseArgs(w.Args)
	if err != nil {
		return err
	}
	s, err := setup.New()
	if err != nil {
		return err
	}
	found, err := storeOf(s).Use(w.Name, q.Workdir)
	if err != nil {
		return err
	}
	if loose := found.Template.Loosens(); found.Project && len(loose) > 0 {
		c.PrintErrf("coleo: note: the project's template %s says %s\n", found.Name, strings.Join(loose, ", "))
	}
	q.Template = found.Name
	return found.Template.Fill(q, args)
}

// Usable returns a function that finds a template by its name, for a work folder. The function
// returns an error if the template is wrong, or if it came with a project and is not trusted.
func Usable(s setup.Setup) func(name, workdir string) (template.Template, error) {
	return func(name, workdir string) (template.Template, error) {
		found, err := storeOf(s).Use(name, workdir)
		return found.Template, err
	}
}

func storeOf(s setup.Setup) template.Store {
	return template.Store{User: s.Templates(), TrustFile: files.List(s.TemplateTrust())}
}

// Names returns the names of the templates that are available in the current folder. It is for
// completions in a shell.
func Names(_ context.Context, s setup.Setup) []string {
	all, err := storeOf(s).List(".")
	if err != nil {
		return nil
	}
	var out []string
	for _, f := range all {
		if !f.Hidden && f.Fault == "" {
			out = append(out, cobra.CompletionWithDesc(f.Name, printable.Text(f.Template.Description)))
		}
	}
	return out
}

const dirHelp = "`FOLDER` of the project (default: the current folder)"

func newListCommand() *cobra.Command {
	dir := "."
	c := &cobra.Command{
		Use:   "list",
		Short: "List your templates and the project's templates",
		Long: `List your templates, which are in the folder templates beside config.toml, and the
project's templates, which are in .coleo/templates of the folder and of the folders
above it in the repository.`,
		Args: verb.Exactly(0, "no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := setup.New()
			if err != nil {
				return err
			}
			all, err := storeOf(s).List(dir)
			if err != nil {
				return err
			}
			if verb.WantsJSON(c) {
				for i := range all {
					all[i].Content = "" // the JSON omits the text, because the fields below "template" already contain it
				}
				return verb.PrintJSON(c, map[string]any{"templates": append([]template.Found{}, all...)})
			}
			return printList(c, all, s.Templates())
		},
	}
	c.Flags().StringVarP(&dir, "workdir", "w", ".", dirHelp)
	return c
}

func printList(c *cobra.Command, all []template.Found, own string) error {
	if len(all) == 0 {
		_, err := fmt.Fprintf(c.OutOrStdout(),
			"No templates in %s, and none in %s of the project.\n", own, template.ProjectFolder)
		return err
	}
	w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tFROM\tSTATE\tDESCRIPTION")
	for _, f := range all {
		from := "you"
		if f.Project {
			from = "the project"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", f.Name, from, stateOf(f), printable.Text(f.Template.Description))
	}
	return w.Flush()
}

// stateOf describes in a few words whether a template can be used.
func stateOf(f template.Found) string {
	switch {
	case f.Hidden:
		return "hidden by the one above"
	case f.Fault != "":
		return "wrong: " + printable.Text(strings.Join(strings.Fields(f.Fault), " "))
	case f.Changed:
		return "changed since you trusted it"
	case !f.Trusted:
		return "not trusted"
	}
	return "ready"
}

func newShowCommand() *cobra.Command {
	dir := "."
	c := &cobra.Command{
		Use:   "show TEMPLATE",
		Short: "Show a template, and whether it can be used",
		Args:  verb.Exactly(1, "the name of a template"),
		RunE: func(c *cobra.Command, args []string) error {
			s, err := setup.New()
			if err != nil {
				return err
			}
			f, err := storeOf(s).Find(args[0], dir)
			if err != nil {
				return err
			}
			return verb.Say(c, describeTemplate(f), f)
		},
	}
	c.Flags().StringVarP(&dir, "workdir", "w", ".", dirHelp)
	return c
}

// describeTemplate returns the text that a person reads before using or trusting a template.
func describeTemplate(f template.Found) string {
	text := fmt.Sprintf("%s:\n\n%s\nState: %s", f.Path, printable.Marked(f.Content), stateOf(f))
	if loose := f.Template.Loosens(); len(loose) > 0 {
		text += "\nIt lets an arm do more than the defaults: " + strings.Join(loose, ", ")
	}
	if !f.Trusted && f.Fault == "" {
		text += fmt.Sprintf("\nTo trust it: coleo template trust %s --hash %s", f.Name, f.Hash)
	}
	return text
}

func newTrustCommand() *cobra.Command {
	dir, hash, revoke := ".", "", false
	c := &cobra.Command{
		Use:   "trust TEMPLATE --hash HASH",
		Short: "Trust a template that came with a project",
		Long: `Trust a template that came with a project. 'coleo template show' prints the template
and its hash. The trust is for this content: when the file changes, it is not
trusted. --revoke ends the trust. This does not work inside an arm.`,
		Example: `  coleo template show review
  coleo template trust review --hash HASH`,
		Args: verb.Exactly(1, "the name of a template"),
		RunE: func(c *cobra.Command, args []string) error {
			if revoke == (hash != "") {
				return coleo.Errorf(coleo.EInvalid,
					"give --hash HASH or --revoke: nothing is trusted; "+
						"'coleo template show %s' prints the hash", args[0])
			}
			s, err := setup.New()
			if err != nil {
				return err
			}
			f, err := storeOf(s).Find(args[0], dir)
			if err == nil {
				err = s.Prepare()
			}
			if err != nil {
				return err
			}
			line := "Trusted: "
			if revoke {
				line, f.Trusted, f.Changed = "No longer trusted: ", false, false
				err = storeOf(s).Distrust(f)
			} else {
				f, err = storeOf(s).Trust(f, hash)
			}
			if err != nil {
				return err
			}
			return verb.Say(c, line+f.Path, f)
		},
	}
	c.Flags().StringVarP(&dir, "workdir", "w", ".", dirHelp)
	c.Flags().StringVar(&hash, "hash", "", "trust the content with this `HASH`")
	c.Flags().BoolVar(&revoke, "revoke", false, "no longer trust it")
	return c
}
