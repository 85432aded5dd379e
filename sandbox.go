package coleo

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// SandboxKind names the program that makes the sandbox of an agent CLI.
type SandboxKind string

// The kinds of sandboxes.
const (
	SandboxNone   SandboxKind = "none"   // the agent CLI runs as the user does
	SandboxBwrap  SandboxKind = "bwrap"  // bubblewrap, on Linux
	SandboxDocker SandboxKind = "docker" // not supported yet
	SandboxPodman SandboxKind = "podman" // not supported yet
)

// SandboxNetwork says which part of the network a sandboxed agent CLI can reach. It is one of the
// words below, or NetworkAllow and a list of servers with commas between them.
type SandboxNetwork string

// The values of SandboxNetwork.
const (
	// NetworkAll gives access to the network of the machine, including loopback. It is the default.
	NetworkAll SandboxNetwork = "all"
	// NetworkNone gives access to loopback only. An arm with the scripted model reaches the model
	// over loopback.
	NetworkNone SandboxNetwork = "none"
	// NetworkModel gives access to the server of the harness's model, and to the sandbox's own
	// loopback.
	NetworkModel SandboxNetwork = "model"
	// NetworkAllow is the beginning of a list such as "allow=example.com,127.0.0.1:8080". It gives
	// access to these servers and to everything that NetworkModel does.
	NetworkAllow SandboxNetwork = "allow="
)

// Sandbox describes the sandbox in which an agent CLI runs.
type Sandbox struct {
	Kind    SandboxKind    `json:"kind" enum:"none,bwrap,docker,podman" doc:"What makes the sandbox"`
	Network SandboxNetwork `json:"network,omitempty" pattern:"^(all|none|model|allow=.+)$" doc:"all, none, model or allow=HOST[:PORT],...; default all"`
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
	case s.Network.Filtered():
		return string(s.Kind) + " (network: " + string(s.Network) + ")"
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
	if !slices.Contains([]SandboxNetwork{"", NetworkAll, NetworkNone, NetworkModel}, s.Network) {
		if _, err := s.Network.Servers(); err != nil {
			return Errorf(EInvalid, "nothing was started: the network %q of a sandbox: %w", s.Network, err)
		}
	}
	if !s.On() && s.Network != "" && s.Network != NetworkAll {
		return Errorf(EInvalid, "nothing was started: without a sandbox, Coleo takes no network away: add --sandbox %s",
			SandboxBwrap)
	}
	return nil
}

// Filtered reports whether the agent CLI reaches only some servers, by a proxy.
func (n SandboxNetwork) Filtered() bool {
	return n == NetworkModel || strings.HasPrefix(string(n), string(NetworkAllow))
}

// Server is a host with a port.
type Server struct {
	Host string // a name in small letters, or an IP address in its usual form
	Port uint16
}

// Loopback reports whether the host is this machine, as loopback addresses and localhost are.
func (s Server) Loopback() bool {
	addr, err := netip.ParseAddr(s.Host)
	return s.Host == "localhost" || err == nil && addr.IsLoopback()
}

const (
	// maxServers limits the servers of a list. A command line can have more, but nobody reads them.
	maxServers = 50
	// FirstPort is the first port of this machine that a sandbox can reach. Inside, a program
	// without rights listens on the same port.
	FirstPort = 1024
)

// Servers returns the servers that a list names. A host without a port means the ports 443 and 80.
// If the word is no list, Servers returns none for a word that Coleo knows, and otherwise an error.
func (n SandboxNetwork) Servers() ([]Server, error) {
	text, ok := strings.CutPrefix(string(n), string(NetworkAllow))
	switch {
	case slices.Contains([]SandboxNetwork{"", NetworkAll, NetworkNone, NetworkModel}, n):
		return nil, nil
	case !ok:
		return nil, Errorf(EInvalid, "choose %s, %s, %s or %sHOST[:PORT],…", NetworkAll, NetworkNone, NetworkModel,
			NetworkAllow)
	}
	var out []Server
	for one := range strings.SplitSeq(text, ",") {
		host, port, err := ParseServer(one)
		if err != nil {
			return nil, err
		}
		if server := (Server{host, port}); server.Loopback() && port < FirstPort {
			return nil, Errorf(EInvalid, "%s is this machine: name a port from %d on, such as %s:8080", one, FirstPort, host)
		}
		out = append(out, Server{host, cmp.Or(port, 443)})
		if port == 0 {
			out = append(out, Server{host, 80})
		}
	}
	if len(out) > maxServers {
		return nil, Errorf(EInvalid, "a list has at most %d servers", maxServers)
	}
	return out, nil
}

// ParseServer returns the host and the port of HOST or HOST:PORT. The port is 0 if the text has none.
// The error is EInvalid. An IPv6 address with a port is in brackets.
func ParseServer(text string) (host string, port uint16, err error) {
	host, digits := text, ""
	at := strings.LastIndexByte(text, ':')
	if addr, err := netip.ParseAddr(strings.Trim(text, "[]")); err == nil && addr.Is6() {
		host = strings.Trim(text, "[]")
	} else if at >= 0 {
		host, digits = text[:at], text[at+1:]
		number, err := strconv.ParseUint(digits, 10, 16)
		if err != nil || number == 0 || digits[0] == '+' {
			return "", 0, Errorf(EInvalid, "%q: %q is no port", text, digits)
		}
		port = uint16(number)
		if inner, ok := strings.CutPrefix(host, "["); ok {
			host = strings.TrimSuffix(inner, "]")
			if addr, err := netip.ParseAddr(host); err != nil || !addr.Is6() {
				return "", 0, Errorf(EInvalid, "%q: %q is no IPv6 address", text, host)
			}
		} else if strings.Contains(host, ":") {
			return "", 0, Errorf(EInvalid, "%q: write an IPv6 address with a port as [ADDRESS]:PORT", text)
		}
	}
	if addr, err := netip.ParseAddr(host); err == nil && addr.Zone() == "" {
		return addr.Unmap().String(), port, nil
	}
	if host, err = HostName(host); err != nil {
		return "", 0, Errorf(EInvalid, "%q is neither HOST nor HOST:PORT", text)
	}
	return host, port, nil
}

// These are the bounds of names in RFC 1035.
const (
	maxHostName = 253 // bytes
	maxLabel    = 63  // bytes between two dots
)

// HostName returns a host in its usual form: an IPv4 address, or a name in small letters without a
// dot at its end. For anything else, the error is EInvalid. The other ways to write an IPv4 address,
// such as 127.1 and 0x7f000001, are errors too.
func HostName(text string) (string, error) {
	if addr, err := netip.ParseAddr(text); err == nil && addr.Is4() {
		return addr.String(), nil
	}
	name := strings.ToLower(strings.TrimSuffix(text, "."))
	wrong := Errorf(EInvalid, "the host is neither a name nor an IP address")
	if name == "" || len(name) > maxHostName {
		return "", wrong
	}
	label := ""
	for label = range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > maxLabel || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return "", wrong
		}
	}
	if strings.Trim(label, "0123456789") == "" || strings.HasPrefix(label, "0x") {
		return "", wrong
	}
	return name, nil
}
