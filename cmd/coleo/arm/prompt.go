package arm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/api/apiclient"
	"coleo.dev/cmd/coleo/queue"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/show"
	"coleo.dev/cmd/coleo/verb"
	"coleo.dev/printable"
)

// promptFlags contains the flags of arm prompt.
type promptFlags struct {
	interrupt, wait, unproven bool
	timeout                   time.Duration
	files                     []string
	selectors                 []string

	schema, input, inputSchema string // paths of files
	retries                    int
}

func newPromptCommand() *cobra.Command {
	var f promptFlags
	c := &cobra.Command{
		Use:   "prompt NAME TEXT...",
		Short: "Send a prompt",
		Long: `Send a prompt. If TEXT is -, it is read from standard input.

Without --wait, this returns when the agent CLI has taken the prompt. Coleo
types the prompt once, and never into a dialog. If nothing proves that the
prompt arrived, the exit code is 7. If a dialog is open, nothing is typed and
the exit code is 6.

With --wait, this returns when the turn has ended, and prints the answer. The
exit code is 0 if the turn finished, 16 if the arm asks something, 17 if the
turn failed, 18 if it was interrupted or denied, and 13 if the agent CLI ended.
It is 19 if the screen is idle and nothing proves that the turn has ended.
With --timeout it stops waiting after that time and exits with 9. The turn
continues.

With --schema, the answer must be JSON that fits the JSON Schema in a file. The
schema is added to the prompt. If the answer does not fit, the model is asked
again, up to --retries times. --wait then prints the JSON alone, and the exit
code is 22 if no answer fits.

With --selector instead of NAME, the prompt goes to all arms with these labels that
have not ended. --wait, --schema and --input are for one arm.`,
		Example: `  coleo arm prompt fix "add a test for the parser"
  coleo arm prompt fix --wait --timeout 10m "why does the build fail?"
  git diff | coleo arm prompt review --wait -
  coleo arm prompt -l team=payments "commit your work"
  coleo arm prompt review --wait --schema issues.json "list the issues"`,
		Args: func(_ *cobra.Command, args []string) error {
			several := len(f.selectors) > 0
			switch {
			case several && (f.wait || f.schema != "" || f.input != "" || f.inputSchema != ""):
				return coleo.Errorf(coleo.EInvalid,
					"--wait, --schema and --input are for one arm, and not for --selector: nothing was sent")
			case len(args) == 0, !several && len(args) == 1:
				return coleo.Errorf(coleo.EInvalid, "coleo arm prompt takes the name of an arm, or --selector, and a text")
			}
			return nil
		},
		RunE: setup.WithClient(func(c *cobra.Command, client *apiclient.Client, args []string) error {
			if len(f.selectors) > 0 {
				return promptSeveral(c, client, args, f)
			}
			return prompt(c, client, args[0], args[1:], f)
		}),
	}
	c.Flags().BoolVarP(&f.interrupt, "interrupt", "i", false, "stop the running turn first")
	c.Flags().BoolVar(&f.unproven, "unproven", false,
		"send the prompt even if nothing proves that the last turn has ended")
	c.Flags().BoolVar(&f.wait, "wait", false, "wait for the end of the turn, and print the answer")
	queue.FileFlag(c, &f.files)
	selectorFlag(c, &f.selectors)
	c.Flags().StringVar(&f.schema, "schema", "", "`FILE` with the JSON Schema that the answer must fit")
	c.Flags().IntVar(&f.retries, "retries", coleo.DefaultRetries,
		fmt.Sprintf("with --schema: how often the model is asked again, at most %d", coleo.MaxRetries))
	c.Flags().StringVar(&f.input, "input", "", "`FILE` with JSON that is added to the prompt")
	c.Flags().StringVar(&f.inputSchema, "input-schema", "",
		"`FILE` with the JSON Schema that the input must fit; if it does not, nothing is sent")
	c.Flags().DurationVar(&f.timeout, "timeout", 0,
		"with --wait: maximum wait (default: no limit)")
	return c
}

// deliveredPrompt is the JSON output of arm prompt without --wait.
type deliveredPrompt struct {
	Delivered bool   `json:"delivered"`
	Run       string `json:"run"`
	coleo.Receipt
}

func prompt(c *cobra.Command, client *apiclient.Client, name string, words []string, f promptFlags) error {
	p, err := f.prompt(c, words)
	if err != nil {
		return withDelivered(err, false)
	}
	arm := lasting(c.Context(), client, name)
	receipt, err := client.Prompt(c.Context(), arm.id, p, "")
	if err != nil {
		return err
	}
	if !f.wait {
		return verb.Say(c, show.Sent("Sent to "+name, receipt, "\n"), deliveredPrompt{true, receipt.ID, receipt})
	}
	tellCleared(c, receipt)
	done := sayWaiting(c, client, name)
	end, err := awaitAnswer(c.Context(), client, arm, receipt.ID, f.timeout)
	err = ifServeEnded(c.Context(), name, err)
	end.Cleared = receipt.Cleared
	if done(); verb.WantsJSON(c) || end.Answer != "" || err == nil {
		err = errors.Join(verb.Say(c, end.text(), end), err)
	}
	return err
}

// tellCleared prints the text that Coleo removed from the composer before the prompt. It prints to
// standard error, because standard output must contain only the answer. With --json it prints
// nothing, because the JSON contains the text.
func tellCleared(c *cobra.Command, r coleo.Receipt) {
	if line := show.Cleared(r); line != "" && !verb.WantsJSON(c) {
		fmt.Fprintln(c.ErrOrStderr(), line)
	}
}

// promptSeveral sends a prompt to all arms that the selectors match.
func promptSeveral(c *cobra.Command, client *apiclient.Client, words []string, f promptFlags) error {
	p, err := f.prompt(c, words)
	if err != nil {
		return err
	}
	send := func(ctx context.Context, client *apiclient.Client, arm target) (string, any, error) {
		receipt, err := client.Prompt(ctx, arm.id, p, "")
		return show.Sent("Sent", receipt, "; "), deliveredPrompt{true, receipt.ID, receipt}, err
	}
	b := bulk{appliesTo: notStopped, do: send}
	arms, err := b.chosenArms(c.Context(), client, choice{selectors: f.selectors}, nil)
	if err != nil {
		return err
	}
	return printOutcomes(c, b.each(c.Context(), client, arms))
}

// prompt returns the prompt that the words and the flags describe.
func (f promptFlags) prompt(c *cobra.Command, words []string) (coleo.Prompt, error) {
	text := strings.Join(words, " ")
	if text == "-" {
		raw, err := io.ReadAll(os.Stdin)
		if err != nil {
			return coleo.Prompt{}, fmt.Errorf("read the prompt: %w", err)
		}
		text = string(raw)
	}
	files, err := queue.Paths(f.files)
	if err != nil {
		return coleo.Prompt{}, err
	}
	check, err := f.check(c)
	return coleo.Prompt{Text: text, Interrupt: f.interrupt, Unproven: f.unproven, Files: files, Check: check}, err
}

// check returns what the flags ask Coleo to check: the answer, the input, or both. It returns nil if they
// ask for no check.
func (f promptFlags) check(c *cobra.Command) (*coleo.Check, error) {
	if f.schema == "" && c.Flags().Changed("retries") {
		return nil, coleo.Errorf(coleo.EInvalid, "--retries needs --schema: nothing was sent")
	}
	if f.schema == "" && f.input == "" && f.inputSchema == "" {
		return nil, nil
	}
	var out coleo.Check
	for path, to := range map[string]*json.RawMessage{f.schema: &out.Schema, f.input: &out.Input,
		f.inputSchema: &out.InputSchema} {
		if path == "" {
			continue
		}
		raw, err := readJSON(path, "nothing was sent")
		if err != nil {
			return nil, err
		}
		*to = raw
	}
	if out.Schema != nil {
		out.Retries = f.retries
	}
	return &out, nil
}

const waitHelp = `Wait until an arm is in one of the states that --state names, and print that
state.

The states are initializing, idle, processing, executing, waiting_approval,
error and dead. After --timeout the exit code is 9. If the agent CLI ends
first, it is 13.`

func newWaitCommand() *cobra.Command {
	var words string
	var timeout time.Duration
	var want []coleo.State
	c := bulkCommand(bulk{name: "wait", short: "Wait until an arm is in a state", long: waitHelp, appliesTo: notStopped,
		do: func(ctx context.Context, client *apiclient.Client, waited target) (string, any, error) {
			arm, err := waitArm(ctx, client, waited.id, timeout, want...)
			return string(arm.State), arm, err
		}, together: true})
	c.Example = `  coleo arm wait fix --state idle,waiting_approval --timeout 30m
  coleo arm wait -l team=payments`
	c.PreRunE = func(*cobra.Command, []string) error {
		for word := range strings.SplitSeq(words, ",") {
			state := coleo.State(strings.TrimSpace(word))
			if !state.Valid() {
				return coleo.Errorf(coleo.EInvalid, "%q is not a state; the states are %s", word,
					printable.List(coleo.States()))
			}
			want = append(want, state)
		}
		return nil
	}
	c.Flags().StringVar(&words, "state", "idle", "`STATES`, separated by commas")
	c.Flags().DurationVar(&timeout, "timeout", 5*time.Minute, "maximum wait")
	return c
}

// readJSON reads JSON from a file. Its error ends with notDone, which tells the user what was not done, such as
// "nothing was sent".
func readJSON(path, notDone string) (json.RawMessage, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, coleo.Errorf(coleo.EInvalid, "the file %s cannot be read (%v): %s", path, verb.Cause(err), notDone)
	}
	if !json.Valid(raw) {
		return nil, coleo.Errorf(coleo.EInvalid, "%s is not JSON: %s", path, notDone)
	}
	return raw, nil
}
