package arm

import (
	"bufio"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/api/apiclient"
	"coleo.dev/cmd/coleo/model"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/terminal"
	"coleo.dev/cmd/coleo/verb"
	"coleo.dev/window"
	"coleo.dev/wire"
)

// This file contains what the verb arm spawn does. Its flags are in spawn_flags.go.

func spawn(c *cobra.Command, f spawnFlags) error {
	if err := f.prepare(c); err != nil {
		return err
	}
	s, err := setup.New()
	if err != nil {
		return err
	}
	client, err := StartedClient(c, s, f.local)
	if err != nil {
		return err
	}
	if asksUser(c) {
		q := questions{bufio.NewReader(c.InOrStdin()), c.ErrOrStderr(),
			func(i coleo.Info) bool { return i.Command == "" || s.FindProgram(i.Command) != "" }}
		if err := f.askAll(c.Context(), q, client, s.Arms.Harness); err != nil {
			return err
		}
		if err := f.prepare(c); err != nil { // prepare checks the user's answers as if they were flags
			return err
		}
	}
	if f.q.Name == "" {
		if f.q.Name, err = freeName(c.Context(), client); err != nil {
			return err
		}
	}
	if f.q.TrustWorkdir {
		if err := SayTrust(c, client, f.q, s.Arms.Harness); err != nil {
			return err
		}
	}
	if err := f.checkNew(c.Context(), client); err != nil {
		return err
	}
	if err := f.addWindowPlace(c.Context(), client, s.Arms.Harness); err != nil {
		return err
	}
	started := sayWaiting(c, client, f.q.Name)
	reply, err := client.Spawn(c.Context(), f.q)
	if started(); err != nil {
		err = ifCancelled(c.Context(), err, "cancelled while arm %[1]s was started: nobody knows whether it was started; "+
			"'coleo arm status %[1]s' shows it", f.q.Name)
		return setup.SuggestHarness(c.Context(), client, err)
	}
	if reply.Warning != "" {
		c.PrintErrln("coleo: note:", reply.Warning)
	}
	if !f.noWait {
		ready := sayWaiting(c, client, reply.Arm.Name)
		reply.Arm, err = awaitReady(c.Context(), client, reply.Arm, f.timeout)
		if ready(); err != nil && !hasFinished(c.Context(), client, reply.FirstRun, err) {
			return ifCancelled(c.Context(), err, "cancelled after arm %[1]s was started: the arm continues; "+
				"'coleo arm wait %[1]s' waits until it is ready, and 'coleo arm kill %[1]s' ends it", reply.Arm.Name)
		}
	}
	line := reply.ModelChange.FirstLine() + spawnedLine(reply.Arm)
	switch {
	case reply.Arm.Window != nil && !f.noWait:
		if reply.Arm, err = terminal.AwaitWindow(c.Context(), client, reply.Arm); err != nil {
			return terminal.OpenFailed(err, reply.Arm.Name)
		}
		line += "\n" + terminal.WindowLine(reply.Arm)
	case f.terminal != "" && f.q.Terminal == "":
		done, err := terminal.OpenWindow(c, client, reply.Arm, window.Terminal(f.terminal))
		if err != nil {
			return terminal.OpenFailed(err, reply.Arm.Name)
		}
		line += "\n" + done.Line()
	}
	return verb.Say(c, line, reply)
}

// ifCancelled returns err, or an error for people if Ctrl-C or a signal has caused err. The message for people
// is `format` with the name of the arm.
func ifCancelled(ctx context.Context, err error, format, arm string) error {
	if ctx.Err() == nil || !errors.Is(err, context.Canceled) {
		return err
	}
	return coleo.Errorf(coleo.EInternal, format, arm)
}

// hasFinished reports whether the arm's first run has finished, although err reports that the agent CLI ended
// before it was ready. An arm with --end-when-done can finish so fast.
func hasFinished(ctx context.Context, client *apiclient.Client, run string, err error) bool {
	if run == "" || coleo.ErrorCode(err) != coleo.EExited {
		return false
	}
	events, _, err := client.Events(ctx, wire.EventFilter{Run: run, Kinds: []coleo.EventKind{coleo.EventRunEnd}, Limit: 1})
	if err != nil || len(events) == 0 {
		return false
	}
	end, err := coleo.DecodeRunEnd(events[0])
	return err == nil && end.Outcome == coleo.OutcomeFinished
}

// addWindowPlace adds to the request where to open the arm's window. It does so in two cases:
//   - The arm's harness shows its agent CLI in a window.
//   - The user gives -t, gives no --harness, and the arm is new. Serve then chooses a harness with a window.
//
// In all other cases, it adds nothing: a window with 'coleo arm attach' is opened after the start. `usual` is
// the harness of a new arm if the user gives neither -t nor --harness.
func (f *spawnFlags) addWindowPlace(ctx context.Context, client *apiclient.Client, usual string) error {
	name := f.q.Harness
	if name == "" {
		arm, err := client.Arm(ctx, f.q.Name)
		switch {
		case err == nil:
			name = arm.Harness
		case coleo.ErrorCode(err) != coleo.ENotFound:
			return err
		case f.terminal == "":
			name = usual
		}
	}
	list, err := client.Harnesses(ctx)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(list, func(i coleo.Info) bool { return i.Name == name })
	if shown := at >= 0 && list[at].Capabilities.Window; shown || name == "" && f.terminal != "" {
		f.q.Terminal, f.q.WindowEnviron = f.terminal, terminal.WindowEnviron(os.LookupEnv)
	}
	return nil
}

// checkWindow checks the flags for a window. It must run before the arm is started.
func (f *spawnFlags) checkWindow(c *cobra.Command) error {
	if c.Flags().Changed("end-when-done") {
		f.q.EndWhenDone = &f.endWhenDone
	}
	if f.headless && c.Flags().Changed("headless") {
		f.q.Headless = &f.headless
	}
	switch {
	case f.terminal == "" && !f.headless:
		return coleo.Errorf(coleo.EInvalid,
			"--headless=false needs -t TERMINAL: without -t, every arm runs without a window, and 'coleo arm open' "+
				"opens a window later")
	case f.terminal != "" && f.headless && c.Flags().Changed("headless"):
		return coleo.Errorf(coleo.EInvalid, "--headless and -t %s contradict each other: give one of them", f.terminal)
	case f.terminal == "":
		return nil
	}
	return terminal.CheckWindow(window.Terminal(f.terminal))
}

// prepare checks the flags and fills in the request f.q.
func (f *spawnFlags) prepare(c *cobra.Command) error {
	if err := f.checkWindow(c); err != nil {
		return err
	}
	if err := f.fillIn(); err != nil {
		return err
	}
	var err error
	if f.q.Budget, err = f.budget.Budget(); err != nil {
		return err
	}
	if f.q.Labels, err = coleo.ParseLabels(f.labels); err != nil {
		return err
	}
	if err := f.takeTemplate(c); err != nil {
		return err
	}
	if f.q.Env, err = f.environment(c); err != nil {
		return err
	}
	if f.script != "" {
		if f.q.Script, err = model.ReadScript(f.script); err != nil {
			return err
		}
	}
	if f.q.Model == coleo.ModelScripted && f.q.Provider == "" && f.q.Endpoint == "" {
		return model.CheckScripted(c.Context())
	}
	return nil
}

// StartedClient starts serve and the host agent if they do not run, and returns a client of serve. If onlyServe
// is true, it starts only serve. A caller sets onlyServe if the arm can run without a host agent.
func StartedClient(c *cobra.Command, s setup.Setup, onlyServe bool) (*apiclient.Client, error) {
	start := s.Start
	if onlyServe {
		start = s.StartServe
	}
	started, err := start(c.Context())
	if err != nil {
		return nil, err
	}
	if len(started) > 0 {
		c.PrintErrln("coleo: started", strings.Join(started, " and "))
	}
	return s.Client()
}

// fillIn fills in those fields of f.q that need more than a copy of a flag.
func (f *spawnFlags) fillIn() error {
	if f.q.Workdir == "" {
		f.q.Workdir = "."
	}
	dir, err := filepath.Abs(f.q.Workdir)
	if err != nil {
		return err
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return coleo.Errorf(coleo.EInvalid,
			"the work folder %s does not exist: create it, or name another folder with -w", dir)
	}
	f.q.Workdir = dir
	if f.local = f.local || setup.AllowsLocal(); f.local {
		f.q.AllowLocalFallback = &f.local
	}
	if err := f.takeWorktree(); err != nil {
		return err
	}
	if f.schema != "" {
		if f.q.MemoSchema, err = readJSON(f.schema, "nothing was started"); err != nil {
			return err
		}
	}
	if err := f.takeSandbox(); err != nil {
		return err
	}
	if f.tools != "" {
		f.q.Tools = strings.Split(f.tools, ",")
	}
	for _, text := range f.mcp {
		name, command, ok := strings.Cut(text, "=")
		argv := strings.Fields(command)
		if !ok || name == "" || len(argv) == 0 {
			return coleo.Errorf(coleo.EInvalid, "--mcp %q: write NAME=COMMAND", text)
		}
		f.q.MCPServers = append(f.q.MCPServers, coleo.MCPServer{Name: name, Command: argv[0], Args: argv[1:]})
	}
	return nil
}
