package launch

import (
	"cmp"
	"path/filepath"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/rules"
	"coleo.dev/sandbox"
	"coleo.dev/sandbox/container"
	"coleo.dev/sandbox/limits"
)

// imageEnv lists variables that name programs and files of this machine. A container does not
// receive them, because an image has its own programs and files.
var imageEnv = []string{"SHELL", "SSL_CERT_FILE", "SSL_CERT_DIR"}

// The names of the files about a container. They are in the folder of one start of the arm.
const (
	containerPlan = "container.json"
	containerLink = "container.link"
)

// cleanCommand returns the command that removes the container of a start, or nil if the arm has no
// container.
func cleanCommand(c *coleo.SpawnConfig, hookCommand []string) []string {
	if !c.Sandbox.Container() {
		return nil
	}
	return []string{hookCommand[0], container.CleanVerb, filepath.Join(c.Dir, containerPlan)}
}

// addContainer adds the command line of the arm's container to argv, between the wrapper in c.Wrap and
// the agent CLI. It also writes the plan of the container. The parameter `program` is the path of
// Coleo's own program.
func addContainer(s *rules.Spec, c *coleo.SpawnConfig, program string, argv []string,
	env map[string]string) ([]string, error) {
	if c.Sandbox.Image == "" {
		return nil, coleo.Errorf(coleo.EInvalid, "a container needs an image: name it with --sandbox-image")
	}
	if c.OwnNetwork {
		return nil, coleo.Errorf(coleo.EUnsupported,
			"the scripted model is not reachable in a container: choose --sandbox %s", coleo.SandboxBwrap)
	}
	engine, err := container.Find(c.Sandbox.Kind, c.Environ)
	if err != nil {
		return nil, err
	}
	box := sandbox.Box{Workdir: c.Workdir, Home: filepath.Clean(Home(c))}
	if err := addFolder(&box, c); err != nil {
		return nil, err
	}
	if err := addOwnFiles(&box, s, c); err != nil {
		return nil, err
	}
	plan := container.Plan{Kind: c.Sandbox.Kind, Program: engine, Environ: container.Environ(c.Environ),
		Image: c.Sandbox.Image, Coleo: program, Link: filepath.Join(c.Dir, containerLink), Home: box.Home,
		Workdir: c.Workdir, Network: c.Sandbox.Network == coleo.NetworkAll || c.Sandbox.Network == ""}
	if _, given := c.Env["PATH"]; !given {
		plan.Dropped = []string{"PATH"}
	}
	// if two places have the same path, the first one counts
	for i, list := range [][]sandbox.Place{box.Readable, box.Writable} {
		for _, place := range list {
			plan.Mounts = append(plan.Mounts, container.Mount{Source: cmp.Or(place.Source, place.Path), Target: place.Path,
				Readonly: i == 0})
		}
	}
	if c.Sandbox.Network.Filtered() {
		if plan.Rules, err = networkFile(s, c, env); err != nil {
			return nil, err
		}
	}
	if plan.Limits, err = c.Sandbox.Limit.Parse(); err != nil {
		return nil, err
	}
	noted := *c.Sandbox // a copy, because other configurations share the pointer
	noted.LimitedBy = limits.Means{Group: plan.Limits}.String()
	c.Sandbox = &noted
	if err := plan.Check(); err != nil {
		return nil, err
	}
	file := filepath.Join(c.Dir, containerPlan)
	if err := plan.Write(file); err != nil {
		return nil, err
	}
	at := len(c.Wrap)
	start := []string{program, container.StartVerb, file, "--"}
	return append(append(append([]string{}, argv[:at]...), start...), argv[at:]...), nil
}
