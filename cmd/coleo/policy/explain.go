package policy

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/api/apiclient"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/verb"
	"coleo.dev/printable"
	"coleo.dev/wire"
)

// policyDecision is a decision that an arm's policy has made.
type policyDecision struct {
	Time time.Time `json:"time"`
	Run  string    `json:"run,omitempty"`
	Arm  string    `json:"arm"`
	coleo.PolicyDecision
}

func newExplainCommand() *cobra.Command {
	last := 10
	c := &cobra.Command{
		Use:   "explain NAME",
		Short: "Show what the policy of an arm has decided, and why",
		Long: `Show what the policy of an arm has decided about the arm's approval dialogs, the
oldest first: the decision, the rule, the reason, and whether the policy has
answered the dialog.`,
		Example: "  coleo policy explain fix --last 3",
		Args:    verb.Exactly(1, "the name of an arm"),
		RunE: setup.WithClient(func(c *cobra.Command, client *apiclient.Client, args []string) error {
			list, err := decisions(c.Context(), client, args[0])
			if err != nil {
				return err
			}
			list = list[max(0, len(list)-max(last, 1)):]
			lines := []string{}
			for _, j := range list {
				lines = append(lines, j.String())
			}
			if len(lines) == 0 {
				lines = []string{"The policy of " + args[0] + " has decided nothing yet. " +
					"If it is off, 'coleo arm spawn --policy' turns it on."}
			}
			return verb.Say(c, strings.Join(lines, "\n\n"), list)
		}),
	}
	c.Flags().IntVar(&last, "last", last, "the newest `N` decisions")
	return c
}

// String returns the decision as text for people.
func (j policyDecision) String() string {
	became := "A person answers it."
	switch {
	case j.Applied:
		became = "The policy has answered."
	case j.Problem != "":
		became = "It was not answered: " + j.Problem + "."
	case j.Mode == coleo.PolicyShadow:
		became = "The policy is in shadow, so a person answers it."
	}
	subject, cut := printable.Text(j.Subject), ""
	if j.SubjectCut {
		cut = " (not whole)"
	}
	tool := ""
	if j.Tool != "" {
		tool = fmt.Sprintf("  %s (%s)", printable.Text(j.Tool), j.Category)
	}
	return fmt.Sprintf("%s  %s  by %s%s\n  %s%s\n  why: %s\n  %s", j.Time.Local().Format(time.DateTime), j.Decision,
		j.Rule, tool, strings.ReplaceAll(subject, "\n", "\n  "), cut, j.Why, became)
}

// decisions returns the decisions that an arm's policy has made, oldest first.
func decisions(ctx context.Context, client *apiclient.Client, arm string) ([]policyDecision, error) {
	out := []policyDecision{}
	err := eachEvent(ctx, client, arm, func(e coleo.Event) error {
		j := policyDecision{Time: e.Time, Run: e.Run, Arm: e.Arm}
		if err := json.Unmarshal(e.Payload, &j.PolicyDecision); err != nil {
			return coleo.Errorf(coleo.EInternal, "read a decision of the policy: %v", err)
		}
		out = append(out, j)
		return nil
	}, coleo.EventPolicy)
	return out, err
}

// eachEvent calls fn with each event of the given kinds. If arm is not "", it skips the events of
// other arms.
func eachEvent(ctx context.Context, client *apiclient.Client, arm string, fn func(coleo.Event) error,
	kinds ...coleo.EventKind) error {
	for f := (wire.EventFilter{Arm: arm, Kinds: kinds}); ; {
		list, next, err := client.Events(ctx, f)
		if err != nil || len(list) == 0 {
			return err
		}
		for _, e := range list {
			if err := fn(e); err != nil {
				return err
			}
		}
		f.After = next
	}
}
