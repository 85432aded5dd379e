package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/cmd/coleo/executable"
	"coleo.dev/cmd/coleo/installed"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/show"
	"coleo.dev/cmd/coleo/verb"
	"coleo.dev/config"
	"coleo.dev/holder/process"
	"coleo.dev/sandbox"
	"coleo.dev/sandbox/container"
	"coleo.dev/wholefile"
)

// finding is one problem that coleo doctor has found.
type finding struct {
	Check string `json:"check"`
	Wrong string `json:"wrong"`
	Mend  string `json:"mend,omitempty"` // the command that solves the problem, or advice
	Grave bool   `json:"grave"`          // whether Coleo does not work, or is not safe, until the problem is solved
}

// check is one check of coleo doctor. A check must not change anything.
type check struct {
	name string
	look func(ctx context.Context, s setup.Setup) []finding
}

func checks() []check {
	return []check{
		{"config.toml", checkSettings},
		{"harness files", checkHarnesses},
		{"packs", checkPacks},
		{"state folder", checkState},
		{"disk", checkDisk},
		{"serve and host agent", checkProcesses},
		{"arms", checkArms},
		{"agent CLIs", checkAgents},
		{"kernel", checkKernel},
		{"sandboxes", checkSandboxes},
		{"networks of sandboxes", checkSandboxNetworks},
		{"containers", checkContainers},
	}
}

func newDoctorCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Find problems and print the command that fixes each one",
		Long: `Find problems and print the command that fixes each one. This changes nothing.

It checks config.toml, the harness files, the packs, the state folder, free disk
space, serve, the host agent, the arms, the agent CLIs and the kernel settings. It
also checks which sandboxes this machine can make: with bubblewrap, with a network
of chosen hosts, and with docker and podman. The exit code is 1 if a problem must
be fixed before Coleo works or is safe.`,
		Args: verb.Exactly(0, "no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			paths, err := config.FindPaths(os.Getenv)
			if err != nil {
				return err
			}
			s := setup.Setup{Paths: paths}
			s.Settings, _ = config.ReadSettings(paths.File()) // checkSettings reports this error
			findings, grave := []finding{}, false
			for _, check := range checks() {
				found := check.look(c.Context(), s)
				for i := range found {
					found[i].Check = check.name
					grave = grave || found[i].Grave
				}
				findings = append(findings, found...)
				if !verb.WantsJSON(c) {
					printFindings(c, check.name, found)
				}
			}
			if verb.WantsJSON(c) {
				err = verb.PrintJSON(c, map[string]any{"findings": findings})
			}
			if err == nil && grave {
				return verb.Exit(1)
			}
			return err
		},
	}
}

func printFindings(c *cobra.Command, name string, found []finding) {
	if len(found) == 0 {
		fmt.Fprintf(show.Writer(c), "%s  %s\n", show.Green.Paint("ok  "), name)
		return
	}
	for _, f := range found {
		word, tone := "note", show.Yellow
		if f.Grave {
			word, tone = "BAD ", show.Red
		}
		fmt.Fprintf(show.Writer(c), "%s  %s: %s\n", tone.Paint(word), name, f.Wrong)
		if f.Mend != "" {
			fmt.Fprintf(c.OutOrStdout(), "      fix it with: %s\n", f.Mend)
		}
	}
}

func checkSettings(_ context.Context, s setup.Setup) []finding {
	if _, err := config.ReadSettings(s.File()); err != nil {
		return []finding{{Wrong: err.Error(), Grave: true}}
	}
	return nil
}

func checkHarnesses(_ context.Context, s setup.Setup) []finding {
	reg, err := installed.ReadRegistry(s)
	if reg == nil {
		return []finding{{Wrong: err.Error(), Grave: true}}
	}
	if err == nil {
		return nil
	}
	var out []finding
	for line := range strings.Lines(err.Error()) {
		out = append(out, finding{Wrong: strings.TrimSpace(line),
			Mend: "edit that file; Coleo uses the built-in description until then"})
	}
	return out
}

// checkPacks reports the packs that are installed but not used. It also reports the installed agent CLIs in
// untested versions: nobody has tested the rules that read the screen of such a version.
func checkPacks(_ context.Context, s setup.Setup) []finding {
	reg, _ := installed.ReadRegistry(s)
	if reg == nil {
		return nil
	}
	var out []finding
	if err := reg.PackProblems(); err != nil {
		for line := range strings.Lines(err.Error()) {
			out = append(out, finding{Wrong: strings.TrimSpace(line),
				Mend: "coleo harness pack add a newer pack, or remove this pack; Coleo uses only the other rules until then"})
		}
	}
	for _, name := range reg.List() {
		h, err := reg.Get(name)
		if err != nil {
			continue
		}
		if version := installed.Version(s, h.Info()); version != "" && !h.Info().Judged(version) {
			out = append(out, finding{Wrong: fmt.Sprintf("%s %s is installed, and nobody has tested the rules with it",
				h.Info().Title, version), Mend: "coleo harness test " + name + " tests them; docs/packs.md"})
		}
	}
	return out
}

// checkState reports a problem if other users can access the state folder, or if Coleo cannot write
// to it.
func checkState(_ context.Context, s setup.Setup) []finding {
	info, err := os.Stat(s.State)
	if os.IsNotExist(err) {
		return []finding{{Wrong: "Coleo has not been started here yet", Mend: "coleo up"}}
	}
	if err != nil {
		return []finding{{Wrong: err.Error(), Grave: true}}
	}
	var out []finding
	if mode := info.Mode().Perm(); wholefile.OpenToOthers(mode) {
		out = append(out, finding{Wrong: fmt.Sprintf("%s is open to other users (mode %04o)", s.State, mode),
			Mend: "chmod 700 " + s.State, Grave: true})
	}
	f, err := os.CreateTemp(s.State, "doctor-*")
	if err != nil {
		return append(out, finding{Wrong: err.Error(),
			Mend: "free space on that disk, or make yourself the owner of the folder", Grave: true})
	}
	f.Close()
	_ = os.Remove(f.Name())
	return out
}

// lowDisk is the amount of free disk space below which coleo doctor warns, in bytes. It is room for four more
// arms, because each arm keeps up to 256 MiB of output.
const lowDisk = 1 << 30

func checkDisk(_ context.Context, s setup.Setup) []finding {
	var fs syscall.Statfs_t
	dir := s.State
	for syscall.Statfs(dir, &fs) != nil {
		if dir == filepath.Dir(dir) {
			return nil
		}
		dir = filepath.Dir(dir)
	}
	if free := fs.Bavail * uint64(fs.Bsize); free < lowDisk {
		return []finding{{Wrong: fmt.Sprintf("%d MiB are free at %s", free>>20, dir),
			Mend: "coleo arm list --all, then coleo arm remove NAME for each arm that has ended"}}
	}
	return nil
}

// checkProcesses reports problems of serve and of this machine's host agent.
func checkProcesses(ctx context.Context, s setup.Setup) []finding {
	var out []finding
	for _, name := range []string{"serve", "agent"} {
		id, runs := s.Process(name)
		switch {
		case !runs:
			out = append(out, finding{Wrong: name + " does not run", Mend: "coleo up"})
		case process.Look(id) == process.Stopped:
			out = append(out, finding{Wrong: fmt.Sprintf("%s (process %d) is stopped", name, id.PID),
				Mend: fmt.Sprintf("kill -CONT %d", id.PID), Grave: true})
		}
	}
	if len(out) > 0 {
		return out
	}
	switch found := s.ServeVersion(ctx); {
	case found == "":
		out = append(out, finding{Wrong: "serve runs, but does not answer; the end of its log: " + s.LogTail("serve"),
			Mend: "coleo down && coleo up", Grave: true})
	case found != executable.Version:
		out = append(out, finding{Wrong: fmt.Sprintf("serve runs version %s, this is %s", found, executable.Version),
			Mend: "coleo down && coleo up; the arms continue to run"})
	case !s.HostAgentAnswers(ctx):
		out = append(out, finding{Wrong: "the host agent runs, but serve gets no answer from it; the end of its log: " +
			s.LogTail("agent"), Mend: "coleo down && coleo up", Grave: true})
	}
	return out
}

// checkArms reports the arms that need the user, except those that show a dialog.
func checkArms(ctx context.Context, s setup.Setup) []finding {
	if !s.ServeAnswers(ctx) {
		return nil
	}
	client, err := s.Client()
	if err != nil {
		return []finding{{Wrong: err.Error(), Grave: true}}
	}
	list, err := client.Arms(ctx, true)
	if err != nil {
		return []finding{{Wrong: err.Error(), Grave: true}}
	}
	hosts, err := client.Hosts(ctx)
	if err != nil {
		return []finding{{Wrong: err.Error(), Grave: true}}
	}
	var out []finding
	for _, arm := range list {
		if need, why := arm.Need(); need == coleo.NeedsYou && arm.State != coleo.WaitingApproval {
			out = append(out, finding{Wrong: "arm " + arm.Name + ": " + why, Mend: mendOfArm(arm, hosts)})
		}
	}
	return out
}

// mendOfArm returns the command that helps an arm that needs the user. Its cases have the order of coleo.Arm.Need.
func mendOfArm(arm coleo.Arm, hosts []coleo.HostInfo) string {
	q := coleo.QueueState{}
	if arm.Queue != nil {
		q = *arm.Queue
	}
	switch r := arm.Runtime; {
	case r.Frozen:
		return fmt.Sprintf("kill -CONT %d", arm.PID)
	case slices.ContainsFunc(hosts, func(h coleo.HostInfo) bool { return h.ID == arm.AgentID && !h.Live }):
		return "coleo up" // only a running host agent can help the arm
	case len(arm.Suspensions) > 0:
		return "coleo arm questions " + arm.Name
	case r.State == coleo.HealthBlocked:
	case q.Parked != nil && !q.Parked.ByItself():
		return "coleo arm unpark " + arm.Name
	case r.Stale || r.Display == coleo.DisplayStuck || arm.Status == coleo.StatusPlanningBlocked:
	case q.Paused != "" && !q.ByHand:
		return "coleo arm screen " + arm.Name + ", then coleo arm resume " + arm.Name
	case q.Held != "":
		return "coleo arm queue " + arm.Name
	}
	return "coleo arm recover " + arm.Name
}

func checkAgents(_ context.Context, s setup.Setup) []finding {
	reg, _ := installed.ReadRegistry(s)
	if reg == nil {
		return nil
	}
	for _, name := range reg.List() {
		h, err := reg.Get(name)
		if err == nil && name != "generic" && s.FindProgram(h.Info().Command) != "" {
			return nil
		}
	}
	return []finding{{Wrong: "no agent CLI is installed in the folders that Coleo searches",
		Mend: "coleo harness list names the commands that install one; " +
			"'path' below [agents] in config.toml names other folders"}}
}

// checkKernel reports kernel settings that cause problems for arms.
func checkKernel(_ context.Context, s setup.Setup) []finding {
	hasValue := func(path, value string) bool {
		raw, err := os.ReadFile(path)
		return err == nil && strings.TrimSpace(string(raw)) == value
	}
	var out []finding
	if !hasValue("/proc/sys/dev/tty/legacy_tiocsti", "0") && !s.Arms.AllowSudo && os.Geteuid() != 0 {
		out = append(out,
			finding{Wrong: "sudo does not work inside arms, because Coleo prevents arms from typing into their " +
				"own terminals, and this kernel offers no other way to do that", Mend: "sudo sysctl " +
				"dev.tty.legacy_tiocsti=0 (docs/security.md)"})
	}
	if !hasValue("/proc/sys/dev/tty/legacy_tiocsti", "0") && s.Arms.AllowSudo {
		out = append(out,
			finding{Wrong: "with allow_sudo an arm can type into its own terminal, and so answer its own dialogs",
				Mend: "sudo sysctl dev.tty.legacy_tiocsti=0", Grave: true})
	}
	if hasValue("/proc/sys/kernel/yama/ptrace_scope", "0") {
		out = append(out, finding{Wrong: "an arm can trace your other programs",
			Mend: "sudo sysctl kernel.yama.ptrace_scope=1"})
	}
	return out
}

// checkSandboxes reports a problem if this machine cannot make a sandbox. It tries to make one, and
// runs nothing in it.
func checkSandboxes(ctx context.Context, _ setup.Setup) []finding {
	return trySandbox(ctx, "", sandbox.Probe)
}

// checkSandboxNetworks is like checkSandboxes, for a sandbox that can reach only some hosts.
func checkSandboxNetworks(ctx context.Context, _ setup.Setup) []finding {
	return trySandbox(ctx, " --sandbox-net "+string(coleo.NetworkModel), sandbox.ProbeNetwork)
}

// checkContainers reports which container engines do not work here, and why. If one engine works,
// the other one is not needed, so checkContainers does not report that the other one is missing.
func checkContainers(ctx context.Context, _ setup.Setup) (out []finding) {
	works, missing := false, []finding{}
	for _, kind := range []coleo.SandboxKind{coleo.SandboxPodman, coleo.SandboxDocker} {
		err := container.Usable(ctx, kind, os.Environ())
		found := finding{Wrong: fmt.Sprintf("'coleo arm spawn --sandbox %s' does not work: %v", kind, err)}
		switch _, noProgram := container.Find(kind, os.Environ()); {
		case err == nil:
			works = true
		case noProgram != nil:
			missing = append(missing, found)
		default:
			out = append(out, found)
		}
	}
	if !works {
		out = append(out, missing...)
	}
	return out
}

func trySandbox(ctx context.Context, flags string, probe func(context.Context, []string, string) error) []finding {
	search := filepath.SplitList(os.Getenv("PATH"))
	command, err := executable.HolderCommand()
	if err == nil {
		err = probe(ctx, search, command[0])
	}
	if err == nil {
		return nil
	}
	return []finding{{Wrong: fmt.Sprintf("'coleo arm spawn --sandbox %s%s' does not work: %v", coleo.SandboxBwrap, flags,
		err)}}
}
