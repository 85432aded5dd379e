package sandbox

import (
	"context"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"coleo.dev"
)

// probeTimeout bounds the start of a sandbox that does nothing. It takes some milliseconds.
const probeTimeout = 10 * time.Second

// Install is how a user gets bubblewrap.
const Install = "install bubblewrap, for example with: apt-get install bubblewrap"

// Find returns the path of bubblewrap. It returns EUnsupported with the reason if this
// system has none. The parameter search has the folders of PATH.
func Find(search []string) (string, error) {
	if runtime.GOOS != "linux" {
		return "", coleo.Errorf(coleo.EUnsupported, "Coleo makes sandboxes only on Linux")
	}
	if path := (&finder{path: search}).lookUp("bwrap"); path != "" {
		return path, nil
	}
	return "", coleo.Errorf(coleo.EUnsupported, "the program bwrap is missing: %s", Install)
}

// Probe makes a sandbox and runs nothing in it. It returns EUnsupported with the reason if
// this machine refuses. The parameter program is a program of Coleo that knows the verbs
// of package inside.
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
