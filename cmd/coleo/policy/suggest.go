package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/api/apiclient"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/verb"
	"coleo.dev/policy"
	"coleo.dev/policy/commandline"
)

// suggestion is a rule that would have given the same answer as a person.
type suggestion struct {
	Command  string `json:"command"`
	Approved int    `json:"approved"` // how often a person has approved exactly this command
}

func newSuggestCommand() *cobra.Command {
	least := 3
	c := &cobra.Command{
		Use:   "suggest [NAME]",
		Short: "Propose rules for commands that you have approved several times",
		Long: `Propose rules for commands that you have approved several times and never denied,
in the arm NAME or in all arms. Nothing is changed.

The rules allow exactly the commands that you have approved, without a pattern. They
are printed as a diff of your policy.toml: read each rule before you add it. This
considers only arms with a policy, including the mode shadow.`,
		Example: "  coleo policy suggest --least 5",
		Args:    verb.AtMost(1, "the name of an arm, or nothing"),
		RunE: setup.WithClient(func(c *cobra.Command, client *apiclient.Client, args []string) error {
			s, err := setup.New()
			if err != nil {
				return err
			}
			var past history
			err = eachEvent(c.Context(), client, strings.Join(args, ""), past.add, coleo.EventPolicy, coleo.EventDecision)
			if err != nil {
				return err
			}
			list := past.suggest(max(least, 1))
			rules, err := os.ReadFile(s.PolicyFile())
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			return verb.Say(c, asDiff(s.PolicyFile(), string(rules), list), list)
		}),
	}
	c.Flags().IntVar(&least, "least", least, "how often you must have approved a command, at least (`N`)")
	return c
}

// history contains the decisions of policies and people.
type history struct {
	asked    map[coleo.Fingerprint]string // the commands that a policy left to people, by dialog
	answered []coleo.Decided              // the decisions of people
}

func (h *history) add(e coleo.Event) error {
	if e.Kind == coleo.EventPolicy {
		var p coleo.PolicyDecision
		if err := json.Unmarshal(e.Payload, &p); err != nil {
			return coleo.Errorf(coleo.EInternal, "read a decision of the policy: %v", err)
		}
		if p.Decision == string(policy.Ask) && p.Category == string(policy.Execute) && !p.SubjectCut {
			if h.asked == nil {
				h.asked = map[coleo.Fingerprint]string{}
			}
			h.asked[p.Dialog] = p.Subject
		}
		return nil
	}
	var d coleo.Decided
	if err := json.Unmarshal(e.Payload, &d); err != nil {
		return coleo.Errorf(coleo.EInternal, "read a decision: %v", err)
	}
	if d.Policy == "" {
		h.answered = append(h.answered, d)
	}
	return nil
}

// suggest returns the commands that a rule could allow, most frequent first. People have approved
// each of them at least minApprovals times, and have never denied it.
func (h *history) suggest(minApprovals int) []suggestion {
	approved, denied := map[string]int{}, map[string]bool{}
	for _, d := range h.answered {
		command, known := h.asked[d.Dialog.Fingerprint]
		switch d.Decision.Choice {
		case coleo.ChoiceApprove, coleo.ChoiceApproveAlways:
			approved[command]++
		case coleo.ChoiceDeny, coleo.ChoiceAnswer:
			denied[command] = true
		}
		if !known {
			delete(approved, command)
		}
	}
	out := []suggestion{}
	for command, n := range approved {
		if n >= minApprovals && !denied[command] && isPlain(command) {
			out = append(out, suggestion{command, n})
		}
	}
	slices.SortFunc(out, func(a, b suggestion) int {
		if a.Approved != b.Approved {
			return b.Approved - a.Approved
		}
		return strings.Compare(a.Command, b.Command)
	})
	return out
}

// isPlain reports whether a rule can name the command. That is so if the command is a single
// program, all its words are known and have no blanks, and the shell does nothing else.
func isPlain(command string) bool {
	none := func(string) ([]string, error) { return nil, fmt.Errorf("no file names") }
	list, err := commandline.Parse(command, commandline.POSIX, "/", none)
	if err != nil || len(list) != 1 || len(list[0].Inputs) > 0 {
		return false
	}
	var words []string
	for _, w := range list[0].Words {
		if w.Unknown || w.Matched {
			return false
		}
		words = append(words, w.Text)
	}
	return strings.Join(words, " ") == command && words[len(words)-1] != "*"
}

// linesOfRule is how many lines asDiff prints for one rule.
const linesOfRule = 4

// asDiff returns a diff that adds the suggestions to the end of the user's file. oldText is the
// present text of that file.
func asDiff(path, oldText string, list []suggestion) string {
	if len(list) == 0 {
		return "There is nothing to suggest: no command was approved often enough."
	}
	from, lines := path, strings.Count(oldText, "\n")
	if oldText == "" {
		from = "/dev/null"
	}
	var out strings.Builder
	fmt.Fprintf(&out, "--- %s\n+++ %s\n@@ -%d,0 +%d,%d @@", from, path, lines, lines+1, linesOfRule*len(list))
	for _, s := range list {
		fmt.Fprintf(&out, "\n+# approved %d times\n+[[rule]]\n+command = %q\n+decision = \"allow\"", s.Approved, s.Command)
	}
	return out.String()
}
