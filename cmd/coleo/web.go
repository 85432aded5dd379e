package main

import (
	"github.com/spf13/cobra"
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
			client, err := s.client()
			if err != nil {
				return err
			}
			if _, err := client.Health(c.Context()); err != nil {
				return err
			}
			url, err := s.dashboard()
			if err != nil {
				return err
			}
			return say(c, url, map[string]string{"dashboard": url})
		},
	}
}
