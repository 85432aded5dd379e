package coleo

import "slices"

// SandboxKind names the program that makes the sandbox of an agent CLI.
type SandboxKind string

// The kinds of sandboxes.
const (
	SandboxNone   SandboxKind = "none"   // the agent CLI runs as the user does
	SandboxBwrap  SandboxKind = "bwrap"  // bubblewrap, on Linux
	SandboxDocker SandboxKind = "docker" // not supported yet
	SandboxPodman SandboxKind = "podman" // not supported yet
)

// SandboxNetwork says which part of the network a sandboxed agent CLI can reach.
type SandboxNetwork string

// The values of SandboxNetwork.
const (
	// NetworkAll gives access to the network of the machine, including loopback. It is the default.
	NetworkAll SandboxNetwork = "all"
	// NetworkNone gives access to loopback only. An arm with the scripted model reaches the model
	// over loopback.
	NetworkNone SandboxNetwork = "none"
)

// Sandbox describes the sandbox in which an agent CLI runs.
type Sandbox struct {
	Kind    SandboxKind    `json:"kind" enum:"none,bwrap,docker,podman" doc:"What makes the sandbox"`
	Network SandboxNetwork `json:"network,omitempty" enum:"all,none" doc:"What it reaches of the network; default all"`
	// Folder is the folder in which the agent CLI can write. If Folder is empty, the agent CLI can
	// write in the arm's work folder. A subarm has the folder of its parent.
	Folder string `json:"folder,omitempty" doc:"Coleo sets it for a subarm: the folder of its parent"`
}

// On reports whether there is a sandbox. It returns false for a nil Sandbox.
func (s *Sandbox) On() bool { return s != nil && s.Kind != "" && s.Kind != SandboxNone }

// String describes the sandbox in a few words for users.
func (s *Sandbox) String() string {
	switch {
	case !s.On():
		return string(SandboxNone)
	case s.Network == NetworkNone:
		return string(s.Kind) + " (no network)"
	}
	return string(s.Kind)
}

// Check returns an error if Coleo cannot make such a sandbox on any machine. The error is EInvalid
// for an unknown word. It is EUnsupported for a kind that Coleo does not make yet.
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
