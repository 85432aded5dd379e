// Package container runs an agent CLI in a container of docker or podman. The two programs get nearly
// the same command lines.
//
// StartVerb is the arm's program outside. It asks the engine for a detached container whose first
// process is InitVerb, and waits for that process on a socket, the link. Over the link, StartVerb
// sends what to run, the environment, and its own terminal. So the engine, its records and its
// command line contain no variable of the arm, and the agent CLI has the holder's terminal, as it has
// without a container. The engine makes no second terminal.
//
// The link is also the life of the container. If StartVerb ends, the kernel closes the link. InitVerb
// then ends, and the kernel ends all processes of the container. No process of the container can stop
// InitVerb or read its memory. So nothing stays if somebody kills the holder, its guard, StartVerb or
// the engine's program.
//
// A container has the arm, the generation and the id of the start in its name and in its labels. Only
// a container with exactly these is ever removed.
//
// Package container pulls no image, and installs nothing.
package container

//platform:linux Containers of arms = docker or podman, if the engine runs on this machine

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"coleo.dev"
)

// These are verbs of a Coleo program.
const (
	// StartVerb starts a container and stays as long as the container runs. After the verb come the
	// path of a file with a Plan, "--", and the command line of the agent CLI.
	StartVerb = "container-start"
	// InitVerb is the first process of a container. After the verb comes the path of the link.
	InitVerb = "container-init"
	// CleanVerb removes the container of a start that has ended in another way than by itself. After the
	// verb come the path of a file with a Plan, and the mark of the start.
	CleanVerb = "container-clean"
)

// Linked is the path of the link inside of a container.
const Linked = "/run/coleo.link"

// Plan says how a container is made. A Plan contains no secret.
type Plan struct {
	Kind    coleo.SandboxKind `json:"kind"`
	Program string            `json:"program"` // path of docker or podman
	Environ []string          `json:"environ"` // of Program: see Environ
	Image   string            `json:"image"`
	Coleo   string            `json:"coleo"` // path of a program of Coleo, inside and outside
	Link    string            `json:"link"`  // path of the link outside
	Home    string            `json:"home"`  // an empty folder inside, except for the mounts below
	Workdir string            `json:"workdir"`
	Mounts  []Mount           `json:"mounts"`
	// Network is true if the container has the network in which Program runs. Otherwise it has only
	// loopback.
	Network bool `json:"network,omitempty"`
	// Rules is the path of a file with a proxy.Config, or "". The container then has only loopback, and
	// a proxy.
	Rules  string              `json:"rules,omitempty"`
	Limits coleo.SandboxLimits `json:"limits"`
	// Dropped lists variables of StartVerb that the agent CLI does not get.
	Dropped []string `json:"dropped,omitempty"`
}

// Mount shows a file or a folder of the machine inside.
type Mount struct {
	Source   string `json:"source"` // outside, without symbolic links
	Target   string `json:"target"` // inside
	Readonly bool   `json:"readonly,omitempty"`
}

// Check returns EUnsupported if an engine cannot express the plan.
func (p Plan) Check() error {
	paths := []string{p.Coleo, p.Link, p.Home, p.Workdir}
	for _, m := range p.Mounts {
		paths = append(paths, m.Source, m.Target)
	}
	for _, path := range paths {
		if strings.ContainsAny(path, ",:\"\n\r\x00") || !strings.HasPrefix(path, "/") {
			return coleo.Errorf(coleo.EUnsupported, "the path %q cannot be shown in a container: it is not absolute, or "+
				`contains one of ,:" or a line break`, path)
		}
	}
	return nil
}

// Write writes the plan into a file that only this user can read.
func (p Plan) Write(path string) error {
	text, err := json.Marshal(p)
	if err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("write the plan of a container: %w", err)
	}
	return nil
}

// readPlan reads a plan from a file.
func readPlan(path string) (p Plan, err error) {
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err != nil {
		return p, fmt.Errorf("read the plan of a container: %w", err)
	}
	return p, p.Check()
}
