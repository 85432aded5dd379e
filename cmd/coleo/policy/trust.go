package policy

import (
	"fmt"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/verb"
	"coleo.dev/config"
	"coleo.dev/policy/files"
	"coleo.dev/printable"
)

func newTrustCommand() *cobra.Command {
	var hash string
	var revoke bool
	c := &cobra.Command{
		Use:   "trust DIR",
		Short: "Trust the policy that came with a project",
		Long: `Trust the policy of the project in the folder DIR, the file .coleo/policy.toml.
Until then, its rules can only deny.

Without --hash, this prints the file and its hash, and trusts nothing. Read the
file, and give the hash. The trust applies to this content only. When the file
changes, it is no longer trusted. --revoke ends the trust. This does not work inside
an arm.`,
		Example: `  coleo policy trust ~/src/project
  coleo policy trust ~/src/project --hash HASH
  coleo policy trust ~/src/project --revoke`,
		Args: verb.Exactly(1, "the folder of a project"),
		RunE: func(c *cobra.Command, args []string) error {
			s, err := setup.New()
			if err != nil {
				return err
			}
			paths := pathsOf(s)
			if revoke {
				return distrust(c, s, paths, args[0])
			}
			p, err := paths.Project(args[0])
			if err != nil {
				return err
			}
			if hash == "" {
				return verb.Say(c, describePolicy(p, args[0]), p)
			}
			if hash != p.Hash {
				return coleo.Errorf(coleo.EStale, "%s does not have this hash: nothing is trusted; read it again with "+
					"'coleo policy trust %s'", p.Path, printable.ShellWord(args[0]))
			}
			if err := s.Prepare(); err != nil {
				return err
			}
			if err := paths.Trust(p); err != nil {
				return err
			}
			p.Trusted, p.Changed = true, false
			return verb.Say(c, "Trusted: "+p.Path, p)
		},
	}
	c.Flags().StringVar(&hash, "hash", "", "trust the content with this `HASH`")
	c.Flags().BoolVar(&revoke, "revoke", false, "no longer trust it")
	return c
}

// pathsOf returns the paths of the files with policies' rules.
func pathsOf(s setup.Setup) files.Paths {
	return files.Paths{Host: config.HostPolicy, User: s.PolicyFile(), TrustFile: s.PolicyTrust(),
		GrantFile: s.PolicyGrants()}
}

func distrust(c *cobra.Command, s setup.Setup, paths files.Paths, dir string) error {
	if err := s.Prepare(); err != nil {
		return err
	}
	path, err := paths.Distrust(dir)
	if err != nil {
		return err
	}
	return verb.Say(c, "No longer trusted: "+path, files.Project{Path: path})
}

// describePolicy returns the text that a person reads before trusting a policy.
func describePolicy(p files.Project, dir string) string {
	state := fmt.Sprintf("It is not trusted. To trust it: coleo policy trust %s --hash %s",
		printable.ShellWord(dir), p.Hash)
	switch {
	case p.Trusted:
		state = "It is trusted."
	case p.Changed:
		state = "It has changed since it was trusted. " + state
	}
	return fmt.Sprintf("%s:\n\n%s\n%s", p.Path, printable.Marked(p.Content), state)
}
