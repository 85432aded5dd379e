package sandbox

import (
	"context"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"coleo.dev"
)

// probeTimeout limits the time for the start of an empty sandbox. The start usually takes some
// milliseconds.
const probeTimeout = 10 * time.Second

// Install tells a user how to install bubblewrap.
const Install = "install bubblewrap, for example with: apt-get install bubblewrap"

// Find returns the path of bubblewrap. It looks for bubblewrap in the folders that the parameter
// search lists. If this system cannot have or does not have bubblewrap, Find returns EUnsupported
// with the reason.
func Find(search []string) (string, error) {
	if runtime.GOOS != "linux" {
		return "", coleo.Errorf(coleo.EUnsupported, "Coleo makes sandboxes only on Linux")
	}
	if path := (&finder{path: search}).lookUp("bwrap"); path != "" {
		return path, nil
	}
	return "", coleo.Errorf(coleo.EUnsupported, "the program bwrap is missing: %s", Install)
}

// Probe tests whether this machine can make a sandbox. If it cannot, Probe returns EUnsupported
// with the reason. Probe looks for bubblewrap in the folders that the parameter search lists. The
// parameter program is a program of Coleo that knows the verbs of package inside.
func Probe(ctx context.Context, search []string, program string) error {
	bwrap, err := Find(search)
	if err != nil {
		return err
	}
	system, hidden := System()
	box := Box{Workdir: "/", Home: "/home", System: system, Hidden: hidden, Offline: true}
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
