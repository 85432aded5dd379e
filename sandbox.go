package coleo

import "slices"

// SandboxKind is the program that keeps an agent CLI in a sandbox.
type SandboxKind string

// The kinds of sandboxes.
const (
	SandboxNone   SandboxKind = "none"   // the agent CLI runs as the user does
	SandboxBwrap  SandboxKind = "bwrap"  // bubblewrap, on Linux
	SandboxDocker SandboxKind = "docker" // not supported yet
	SandboxPodman SandboxKind = "podman" // not supported yet
)

// SandboxNetwork is what a sandboxed agent CLI reaches of the network.
type SandboxNetwork string

// The values of SandboxNetwork.
const (
	// NetworkAll is the network of the machine, loopback included. It is the default.
	NetworkAll SandboxNetwork = "all"
	// NetworkNone is a network with loopback alone. With the scripted model, the arm reaches
	// the model there.
	NetworkNone SandboxNetwork = "none"
)

// Sandbox says in which sandbox an agent CLI runs.
type Sandbox struct {
	Kind    SandboxKind    `json:"kind" enum:"none,bwrap,docker,podman" doc:"What makes the sandbox"`
	Network SandboxNetwork `json:"network,omitempty" enum:"all,none" doc:"What it reaches of the network; default all"`
	// Folder is the folder in which the agent CLI can write, if that is not the arm's work
	// folder alone. A subarm has the folder of its parent.
	Folder string `json:"folder,omitempty" doc:"Coleo sets it for a subarm: the folder of its parent"`
}

// On reports whether there is a sandbox. A nil Sandbox is none.
func (s *Sandbox) On() bool { return s != nil && s.Kind != "" && s.Kind != SandboxNone }

// String returns the sandbox in a few words for users.
func (s *Sandbox) String() string {
	switch {
	case !s.On():
		return string(SandboxNone)
	case s.Network == NetworkNone:
		return string(s.Kind) + " (no network)"
	}
	return string(s.Kind)
}

// Check returns an error if Coleo cannot make such a sandbox on any machine. The error is
// EInvalid for a wrong word, and EUnsupported for a kind that is not built yet.
func (s *Sandbox) Check() error {
	if s == nil {
		return nil
	}
	switch s.Kind {
	case SandboxDocker, SandboxPodman:
		return Errorf(EUnsupported, "nothing was started: Coleo makes no sandbox with %s yet, because nobody has tested "+
			"one: "+
			"choose --sandbox %s", s.Kind, SandboxBwrap)
	case SandboxNone, SandboxBwrap:
	default:
		return Errorf(EInvalid, "nothing was started: %q is no sandbox: choose %s or %s", s.Kind, SandboxNone, SandboxBwrap)
	}
	if !slices.Contains([]SandboxNetwork{"", NetworkAll, NetworkNone}, s.Network) {
		return Errorf(EInvalid, "nothing was started: %q is no network of a sandbox: choose %s or %s", s.Network, NetworkAll,
			NetworkNone)
	}
	if !s.On() && s.Network == NetworkNone {
		return Errorf(EInvalid, "nothing was started: without a sandbox, Coleo takes no network away: add --sandbox %s",
			SandboxBwrap)
	}
	return nil
}
