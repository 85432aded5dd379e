// Package container runs an agent CLI in a container of docker or podman. Both programs receive nearly the same
// command lines.
//
// StartVerb is the arm's program outside of the container. It makes the engine start a detached container whose
// first process is InitVerb, and waits until InitVerb connects to a socket, the link. Over the link, StartVerb
// sends the command line, the environment, and its own terminal. So the engine, its records and its command
// line contain no variable of the arm. The agent CLI has the holder's terminal, as without a container, and the
// engine makes no second terminal.
//
// The link also limits the life of the container. If StartVerb ends, the kernel closes the link. Then InitVerb
// ends, and the kernel ends all other processes of the container. No process of the container can stop InitVerb
// or read its memory. So no process is left over if somebody kills the holder, StartVerb or the engine's
// program. The same is true of the guard, which ends the arm if the holder dies.
//
// The name and the labels of a container identify the arm, the generation and the start. Coleo removes only
// containers with exactly these names and labels.
//
// Package container pulls no image and installs nothing.
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
	// StartVerb starts a container and runs until the container has ended. Its arguments are the path of
	// a file with a Plan, "--", and the command line of the agent CLI.
	StartVerb = "container-start"
	// InitVerb is the first process of a container. Its argument is the path of the link.
	InitVerb = "container-init"
	// CleanVerb removes the container of a start that did not end by itself. Its arguments are the path of a file
	// with a Plan, and the mark of the start, which is in the container's labels.
	CleanVerb = "container-clean"
)

// Linked is the path of the link inside of a container.
const Linked = "/run/coleo.link"

// Plan describes how to make a container. It contains no secret.
type Plan struct {
	Kind    coleo.SandboxKind `json:"kind"`
	Program string            `json:"program"` // path of docker or podman
	Environ []string          `json:"environ"` // the environment of Program: see the function Environ
	Image   string            `json:"image"`
	Coleo   string            `json:"coleo"` // path of a Coleo program, inside and also outside of the container
	Link    string            `json:"link"`  // path of the link, a unix socket, outside of the container
	Home    string            `json:"home"`  // an empty folder, except for mounts that lie within it
	Workdir string            `json:"workdir"`
	Mounts  []Mount           `json:"mounts"`
	// Network means that the container uses the same network as Program, the program of the engine. Without
	// Network, the container has only the loopback interface.
	Network bool `json:"network,omitempty"`
	// Rules is the path of a file with a proxy.Config, or "". If it is set, the container has only the loopback
	// interface, and a proxy to the hosts in the file.
	Rules  string              `json:"rules,omitempty"`
	Limits coleo.SandboxLimits `json:"limits"`
	// Dropped lists variables of StartVerb's environment that the agent CLI must not receive.
	Dropped []string `json:"dropped,omitempty"`
}

// Mount is a file or a folder of the machine that is visible in the container.
type Mount struct {
	Source   string `json:"source"` // path outside, without symbolic links
	Target   string `json:"target"` // path inside of the container
	Readonly bool   `json:"readonly,omitempty"`
}

// Check returns EUnsupported if the plan cannot be expressed in an engine's options.
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
