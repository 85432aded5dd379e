package main

import (
	"context"

	"github.com/spf13/cobra"

	"coleo.dev/cmd/coleo/arm"
	"coleo.dev/cmd/coleo/budget"
	"coleo.dev/cmd/coleo/changes"
	"coleo.dev/cmd/coleo/cost"
	"coleo.dev/cmd/coleo/fanout"
	"coleo.dev/cmd/coleo/handover"
	"coleo.dev/cmd/coleo/harness"
	"coleo.dev/cmd/coleo/memo"
	"coleo.dev/cmd/coleo/model"
	"coleo.dev/cmd/coleo/policy"
	"coleo.dev/cmd/coleo/recording"
	runverbs "coleo.dev/cmd/coleo/run"
	"coleo.dev/cmd/coleo/server"
	"coleo.dev/cmd/coleo/template"
	"coleo.dev/cmd/coleo/thread"
	"coleo.dev/cmd/coleo/trigger"
	"coleo.dev/cmd/coleo/verb"
	"coleo.dev/cmd/coleo/why"
	"coleo.dev/cmd/coleo/workspace"
)

// run executes one command line and returns the exit code.
func run(ctx context.Context, args []string) int {
	return verb.Execute(ctx, newRootCommand(), args)
}

func newRootCommand() *cobra.Command {
	root := verb.Group("coleo", "Run many coding agents at once, and know what each of them is doing")
	root.SilenceUsage, root.SilenceErrors = true, true
	root.Example = `  coleo up
  coleo arm spawn -n fix --harness HARNESS -w ~/src/project
  coleo arm prompt fix --wait "why does the build fail?"
  coleo arm list`
	root.PersistentFlags().Bool("json", false, "print JSON instead of text")
	root.SetFlagErrorFunc(verb.FlagError)
	arms := arm.Command()
	arms.AddCommand(thread.ArmCommand(), thread.ForkCommand(), handover.Command(), memo.Command(), budget.Command(),
		runverbs.TailCommand(), changes.DiffCommand(), changes.CheckpointCommand(), changes.CommentCommand(),
		changes.CommentsCommand(), changes.MergeCommand(), changes.PullCommand(),
		changes.WatchCommand())
	runs := runverbs.Command()
	runs.AddCommand(why.GraphCommand())
	root.AddCommand(
		arms, thread.Command(), runs, why.Command(), cost.Command(), harness.Command(), recording.Command(), policy.Command(),
		workspace.Command(), template.Command(), fanout.Command(), newAuditCommand(), newDoctorCommand(),
		newManCommand(), newVersionCommand(), newHoldCommand(), newHookCommand(), newWindowCommand(), newMCPCommand(),
		newTokenCommand(), newInitCommand(),
	)
	root.AddCommand(newSandboxCommands()...)
	root.AddCommand(trigger.Commands()...)
	root.AddCommand(server.Commands(wallClock)...)
	root.AddCommand(model.Commands()...)
	completeAll(root)
	return root
}
