package operatortools

import (
	"context"
	"time"

	"coleo.dev"
	"coleo.dev/api/apiclient"
	"coleo.dev/wire"
)

// This file contains the tools: their names, their descriptions, and their requests to the API.

const (
	// usualWait is how long a call waits if the model names no time. longestWait is the longest
	// time that the model can name. longestWait is short, because many MCP clients cut off a call
	// after 60 s. To wait longer, the model calls again.
	usualWait   = 30 * time.Second
	longestWait = 50 * time.Second

	usualEvents = 50 // the number of events or runs in one result, so that the result does not fill the model's context
)

type armOnly struct {
	Arm string `json:"arm" jsonschema:"id or name of the arm"`
}

type promptInput struct {
	Arm    string   `json:"arm" jsonschema:"id or name of the arm"`
	Prompt string   `json:"prompt"`
	Files  []string `json:"files,omitempty" jsonschema:"absolute paths on the arm's machine, added to the text"`
}

type nowInput struct {
	promptInput
	Interrupt bool `json:"interrupt,omitempty" jsonschema:"stop the running turn first"`
}

type waitInput struct {
	Arm     string   `json:"arm" jsonschema:"id or name of the arm"`
	States  []string `json:"states" jsonschema:"initializing, idle, processing, executing, waiting_approval, error, dead"`
	Seconds int      `json:"seconds,omitempty" jsonschema:"how many seconds to wait: at most 50, 30 if left out"`
}

type runInput struct {
	Run string `json:"run" jsonschema:"id of the run"`
}

type runWaitInput struct {
	Run     string `json:"run" jsonschema:"id of the run"`
	Seconds int    `json:"seconds,omitempty" jsonschema:"how many seconds to wait: at most 50, 30 if left out"`
}

type runsInput struct {
	Arm     string `json:"arm,omitempty" jsonschema:"only runs of this arm"`
	Outcome string `json:"outcome,omitempty" jsonschema:"open, finished, failed, interrupted, died or unproven"`
	Before  string `json:"before,omitempty" jsonschema:"the value of next in an earlier result"`
}

type eventsInput struct {
	Run   string   `json:"run" jsonschema:"id of the run"`
	Kinds []string `json:"kinds,omitempty" jsonschema:"for example tool_call_start or assistant_text"`
	After string   `json:"after,omitempty" jsonschema:"the value of next in an earlier result"`
}

type spawnInput struct {
	Name          string `json:"name"`
	Harness       string `json:"harness" jsonschema:"a harness whose agent CLI asks before it acts: see other arms"`
	Workdir       string `json:"workdir" jsonschema:"absolute path on the arm's machine"`
	Model         string `json:"model,omitempty" jsonschema:"MODEL or PROVIDER/MODEL"`
	Plan          bool   `json:"plan,omitempty" jsonschema:"start in the permission mode plan"`
	InitialPrompt string `json:"initial_prompt,omitempty"`
}

type answerInput struct {
	Arm string `json:"arm" jsonschema:"id or name of the arm"`
	ID  string `json:"id" jsonschema:"id of the dialog or question, from arm_questions"`
}

type denyInput struct {
	Arm   string `json:"arm" jsonschema:"id or name of the arm"`
	ID    string `json:"id" jsonschema:"id of the dialog or question, from arm_questions"`
	Words string `json:"words,omitempty" jsonschema:"what to do instead; the words count as a prompt"`
}

type replyInput struct {
	Arm     string `json:"arm" jsonschema:"id or name of the arm"`
	ID      string `json:"id" jsonschema:"id of the dialog or question, from arm_questions"`
	Options []int  `json:"options,omitempty" jsonschema:"numbers of the chosen options, from 1"`
	Text    string `json:"text,omitempty" jsonschema:"an answer in words; the words count as a prompt"`
}

// row is an arm in a list.
type row struct {
	ID      string       `json:"id"`
	Name    string       `json:"name"`
	Harness string       `json:"harness"`
	State   coleo.State  `json:"state"`
	Health  coleo.Health `json:"health"`
	Workdir string       `json:"workdir,omitempty"`
	Domain  string       `json:"domain,omitempty"`
	Labels  coleo.Labels `json:"labels,omitempty"`
	Waits   int          `json:"waits,omitempty"` // the number of questions of the arm that wait for an answer
}

// tools returns all tools. The name of each tool is a verb of the command line.
func tools() []tool {
	return append(readTools(), []tool{
		{"arm_prompt", coleo.MayPrompt, "Send a prompt to an idle arm. The result comes when it is proven that the agent " +
			"has taken the prompt. The result's id is the id of the run: wait for the answer with run_wait.", calls(prompt)},
		{"arm_follow_up", coleo.MayPrompt, "Add a prompt to the arm's queue. It is sent when the arm is idle. The result's " +
			"id becomes the id of its run.", calls(followUp)},
		{"arm_steer", coleo.MayPrompt, "Send a prompt at once, also while a turn runs. " +
			"The result says how it reached the agent.", calls(steer)},
		{"arm_interrupt", coleo.MayPrompt, "Stop the running turn. The result " +
			"names the pressed keys and the state afterwards.",
			onArm(func(ctx context.Context, c *apiclient.Client, arm string) (any, error) { return c.Interrupt(ctx, arm) })},
		{"arm_abort", coleo.MayPrompt, "Stop the running turn, and pause a queue that is not empty.",
			onArm(func(ctx context.Context, c *apiclient.Client, arm string) (any, error) { return c.Abort(ctx, arm) })},
		{"arm_compact", coleo.MayPrompt, "Make the agent shorten its conversation.",
			onArm(func(ctx context.Context, c *apiclient.Client, arm string) (any, error) { return c.Compact(ctx, arm) })},
		{"arm_spawn", coleo.MaySpawn, "Start a new arm. It asks before it acts, and a person answers.", calls(spawn)},
		{"arm_recover", coleo.MaySpawn, "Reattach to an arm, or start a stopped arm again.",
			onArm(func(ctx context.Context, c *apiclient.Client, arm string) (any, error) {
				return c.Recover(ctx, arm, wire.RecoverRequest{})
			})},
		{"arm_kill", coleo.MaySpawn, "End an arm's agent and all processes that it has started.",
			onArm(func(ctx context.Context, c *apiclient.Client, arm string) (any, error) { return c.Kill(ctx, arm) })},
		{"arm_approve", coleo.MayApprove, "Approve a dialog, a plan or a request for access.", calls(approve)},
		{"arm_deny", coleo.MayApprove, "Deny a dialog, a plan or a request for access.", calls(deny)},
		{"arm_answer", coleo.MayApprove, "Answer a question with options or in words.", calls(reply)},
	}...)
}

func readTools() []tool {
	return []tool{
		{"arm_list", coleo.MayRead, "List the arms, with their states.", calls(listArms)},
		{"arm_status", coleo.MayRead, "Show everything about one arm.",
			onArm(func(ctx context.Context, c *apiclient.Client, arm string) (any, error) { return c.Arm(ctx, arm) })},
		{"arm_screen", coleo.MayRead, "Show the present screen of an arm, or the last one.", calls(screen)},
		{"arm_last", coleo.MayRead, "Show the last run that has ended, with its answer.",
			onArm(func(ctx context.Context, c *apiclient.Client, arm string) (any, error) { return c.LastRun(ctx, arm) })},
		{"arm_questions", coleo.MayRead, "List what an arm waits for: dialogs, questions, plans, requests for access.",
			onArm(questions)},
		{"arm_queue", coleo.MayRead, "List the prompts that wait until the arm is idle.",
			onArm(func(ctx context.Context, c *apiclient.Client, arm string) (any, error) { return c.Queue(ctx, arm) })},
		{"arm_wait", coleo.MayRead, "Wait until an arm is in one of the states.", calls(waitArm)},
		{"run_list", coleo.MayRead, "List runs, the newest first.", calls(listRuns)},
		{"run_show", coleo.MayRead, "Show the summary of a run.",
			calls(func(ctx context.Context, c *apiclient.Client, in runInput) (any, error) { return c.Run(ctx, in.Run) })},
		{"run_events", coleo.MayRead, "List what the agent did in a run.", calls(runEvents)},
		{"run_wait", coleo.MayRead, "Wait for the end of a run, with its answer.", calls(waitRun)},
	}
}

// onArm returns the adder for a tool whose only argument is an arm.
func onArm(do func(context.Context, *apiclient.Client, string) (any, error)) adder {
	return calls(func(ctx context.Context, c *apiclient.Client, in armOnly) (any, error) { return do(ctx, c, in.Arm) })
}

func listArms(ctx context.Context, c *apiclient.Client, _ struct{}) (any, error) {
	arms, err := c.Arms(ctx, true)
	rows := make([]row, len(arms))
	for i, a := range arms {
		rows[i] = row{a.ID, a.Name, a.Harness, a.State, a.Runtime.State, a.Workdir, a.Domain, a.Labels, len(a.Waiting())}
	}
	return map[string]any{"arms": rows}, err
}

func screen(ctx context.Context, c *apiclient.Client, in armOnly) (any, error) {
	s, err := c.Screen(ctx, in.Arm)
	return map[string]any{"lines": s.Lines, "title": s.Title}, err
}

func questions(ctx context.Context, c *apiclient.Client, arm string) (any, error) {
	waiting, err := c.Suspensions(ctx, arm)
	return map[string]any{"waits": waiting}, err
}

// withBound returns a context for a call that waits. The context ends after the given number of
// seconds, but at the latest after longestWait. If the number is 0, the context ends after
// usualWait.
func withBound(ctx context.Context, seconds int) (context.Context, context.CancelFunc) {
	wait := usualWait
	if seconds > 0 {
		wait = min(time.Duration(seconds)*time.Second, longestWait)
	}
	return context.WithTimeout(ctx, wait)
}

func waitArm(ctx context.Context, c *apiclient.Client, in waitInput) (any, error) {
	states := make([]coleo.State, len(in.States))
	for i, s := range in.States {
		states[i] = coleo.State(s)
	}
	ctx, cancel := withBound(ctx, in.Seconds)
	defer cancel()
	return c.WaitArm(ctx, in.Arm, states...)
}

func waitRun(ctx context.Context, c *apiclient.Client, in runWaitInput) (any, error) {
	ctx, cancel := withBound(ctx, in.Seconds)
	defer cancel()
	return c.WaitRun(ctx, in.Run)
}

func listRuns(ctx context.Context, c *apiclient.Client, in runsInput) (any, error) {
	runs, next, err := c.Runs(ctx, wire.RunFilter{Arm: in.Arm, Outcome: coleo.Outcome(in.Outcome), Before: in.Before,
		Limit: usualEvents})
	return map[string]any{"runs": runs, "next": next}, err
}

func runEvents(ctx context.Context, c *apiclient.Client, in eventsInput) (any, error) {
	f := wire.EventFilter{Run: in.Run, After: in.After, Limit: usualEvents}
	for _, kind := range in.Kinds {
		f.Kinds = append(f.Kinds, coleo.EventKind(kind))
	}
	events, next, err := c.Events(ctx, f)
	return map[string]any{"events": events, "next": next}, err
}

func prompt(ctx context.Context, c *apiclient.Client, in nowInput) (any, error) {
	return c.Prompt(ctx, in.Arm, coleo.Prompt{Text: in.Prompt, Files: in.Files, Interrupt: in.Interrupt}, "")
}

func followUp(ctx context.Context, c *apiclient.Client, in promptInput) (any, error) {
	return c.FollowUp(ctx, in.Arm, in.Prompt, in.Files)
}

func steer(ctx context.Context, c *apiclient.Client, in nowInput) (any, error) {
	return c.Steer(ctx, in.Arm, coleo.Prompt{Text: in.Prompt, Files: in.Files, Interrupt: in.Interrupt})
}

func spawn(ctx context.Context, c *apiclient.Client, in spawnInput) (any, error) {
	q := wire.SpawnRequest{Name: in.Name, Harness: in.Harness, Workdir: in.Workdir, Model: in.Model,
		InitialPrompt: in.InitialPrompt}
	if in.Plan {
		q.PermissionMode = coleo.PermissionPlan
	}
	return c.Create(ctx, q)
}

func approve(ctx context.Context, c *apiclient.Client, in answerInput) (any, error) {
	return c.AnswerSuspension(ctx, in.Arm, in.ID, coleo.Decision{Choice: coleo.ChoiceApprove})
}

func deny(ctx context.Context, c *apiclient.Client, in denyInput) (any, error) {
	return c.AnswerSuspension(ctx, in.Arm, in.ID, coleo.Decision{Choice: coleo.ChoiceDeny, Words: in.Words})
}

func reply(ctx context.Context, c *apiclient.Client, in replyInput) (any, error) {
	return c.AnswerSuspension(ctx, in.Arm, in.ID, coleo.Decision{Choice: coleo.ChoiceAnswer, Options: in.Options,
		Words: in.Text})
}
