package sandbox

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"coleo.dev"
	"coleo.dev/sandbox/proxy"
)

// probeTimeout is the time limit for the start of an empty sandbox, which usually takes some
// milliseconds.
const probeTimeout = 10 * time.Second

// Install is the advice for users on how to install bubblewrap.
const Install = "install bubblewrap, for example with: apt-get install bubblewrap"

// Find returns the path of bubblewrap. It looks in the folders in `search`. If bubblewrap is missing or
// cannot run on this system, Find returns EUnsupported with the reason.
func Find(search []string) (string, error) {
	if runtime.GOOS != "linux" {
		return "", coleo.Errorf(coleo.EUnsupported, "Coleo makes sandboxes only on Linux")
	}
	if path := (&finder{path: search}).lookUp("bwrap"); path != "" {
		return path, nil
	}
	return "", coleo.Errorf(coleo.EUnsupported, "the program bwrap is missing: %s", Install)
}

// Probe tests whether this machine can make a sandbox. If it cannot, Probe returns EUnsupported with the
// reason. Probe looks for bubblewrap in the folders in `search`. `program` is the path of a Coleo program
// that knows the verbs of package inside.
func Probe(ctx context.Context, search []string, program string) error {
	return probe(ctx, search, program, Box{Offline: true})
}

// ProbeNetwork is like Probe, for a sandbox with a list of allowed hosts. It starts the sandbox's proxy
// with an empty list, so the proxy contacts no host.
func ProbeNetwork(ctx context.Context, search []string, program string) error {
	dir, err := os.MkdirTemp("", "coleo-probe-")
	if err != nil {
		return fmt.Errorf("make a folder for the rules of a sandbox's network: %w", err)
	}
	defer os.RemoveAll(dir)
	rules := filepath.Join(dir, "rules.json")
	if err := (proxy.Config{Log: filepath.Join(dir, "network.jsonl")}).Write(rules); err != nil {
		return err
	}
	return probe(ctx, search, program, Box{Network: rules})
}

// probe starts a box with a program that does nothing. The caller sets only the box's network.
func probe(ctx context.Context, search []string, program string, box Box) error {
	bwrap, err := Find(search)
	if err != nil {
		return err
	}
	box.Workdir, box.Home = "/", "/home"
	box.System, box.Hidden = System()
	argv := append(box.Argv(Programs{Bwrap: bwrap, Coleo: program}), "true")
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = []string{"PATH=/usr/bin:/bin"}
	out, err := cmd.CombinedOutput()
	if err == nil {
		return nil
	}
	why := strings.Join(strings.Fields(string(out)), " ")
	if why == "" {
		why = err.Error()
	}
	return coleo.Errorf(coleo.EUnsupported, "bubblewrap makes no sandbox on this machine: %s", why)
}
