package main

import (
	"github.com/spf13/cobra"

	"coleo.dev"
)

func newWebCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "web",
		Short: "Print the dashboard's address, with what lets you in",
		Args:  exactly(0, "no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := newSetup()
			if err != nil {
				return err
			}
			if !s.serves(c.Context()) {
				return coleo.Errorf(coleo.EUnavailable, "Coleo does not run here: start it with 'coleo up'")
			}
			url, err := s.dashboard()
			if err != nil {
				return err
			}
			return say(c, url, map[string]string{"dashboard": url})
		},
	}
}
