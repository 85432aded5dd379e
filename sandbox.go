package coleo

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// SandboxKind is the kind of an agent CLI's sandbox, named after the program that makes the
// sandbox.
type SandboxKind string

// The kinds of sandboxes.
const (
	SandboxNone   SandboxKind = "none"   // no sandbox: the agent CLI has the user's rights
	SandboxBwrap  SandboxKind = "bwrap"  // bubblewrap, on Linux
	SandboxDocker SandboxKind = "docker" // a container of docker, on Linux
	SandboxPodman SandboxKind = "podman" // a container of podman, on Linux
)

// SandboxNetwork says which part of the network a sandboxed agent CLI can reach. It is one of the
// words below, or NetworkAllow and a list of servers separated by commas.
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
	// access to these servers, and to everything to which NetworkModel gives access.
	NetworkAllow SandboxNetwork = "allow="
)

// Sandbox describes the sandbox of an agent CLI.
type Sandbox struct {
	Kind    SandboxKind    `json:"kind" enum:"none,bwrap,docker,podman" doc:"What makes the sandbox"`
	Network SandboxNetwork `json:"network,omitempty" pattern:"^(all|none|model|allow=.+)$" doc:"all, none, model or allow=HOST[:PORT],...; default all"` //nolint:lll // a tag has one line
	// Limit says how much of the machine the arm can use. In a request, "" means the default. In the
	// arm's configuration, "" means no limits.
	Limit SandboxLimit `json:"limit,omitempty" doc:"none, or a list of memory=SIZE, pids=NUMBER and cpus=NUMBER"`
	// LimitedBy names the mechanism that enforced the limits at the last start, for users.
	LimitedBy string `json:"limited_by,omitempty" doc:"Set by Coleo: what enforces the limits"`
	// Image is the image of a container. Coleo never downloads it.
	Image string `json:"image,omitempty" maxLength:"255" doc:"Container image with the agent CLI, for docker and podman"`
	// Folder is the folder in which the agent CLI can write. If it is empty, the agent CLI can
	// write in the arm's work folder. The Folder of a subarm is the folder of its parent.
	Folder string `json:"folder,omitempty" doc:"Set by Coleo for a subarm: the folder of its parent"`
}

// On reports whether there is a sandbox. It returns false for a nil Sandbox.
func (s *Sandbox) On() bool { return s != nil && s.Kind != "" && s.Kind != SandboxNone }

// String describes the sandbox in a few words for users.
func (s *Sandbox) String() string {
	if !s.On() {
		return string(SandboxNone)
	}
	var parts []string
	if s.Image != "" {
		parts = append(parts, "image: "+s.Image)
	}
	switch {
	case s.Network == NetworkNone:
		parts = append(parts, "no network")
	case s.Network.Filtered():
		parts = append(parts, "network: "+string(s.Network))
	}
	if s.Limit.On() {
		parts = append(parts, "limit: "+string(s.Limit))
	}
	if len(parts) == 0 {
		return string(s.Kind)
	}
	return string(s.Kind) + " (" + strings.Join(parts, "; ") + ")"
}

// Container reports whether the sandbox is a docker or podman container. It returns false for a nil Sandbox.
func (s *Sandbox) Container() bool {
	return s != nil && (s.Kind == SandboxDocker || s.Kind == SandboxPodman)
}

// ImageName returns EInvalid if a text cannot be the name of an image. It accepts "".
func ImageName(text string) error {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	if len(text) > 255 || strings.Trim(text, letters+"._-/:@") != "" || text != strings.TrimLeft(text, "._-/:@") {
		return Errorf(EInvalid, "%q is not the name of an image, such as my-agents:1", text)
	}
	return nil
}

// Check returns EInvalid if no machine can make such a sandbox. It accepts a container without an
// image, because config.toml can name the image.
func (s *Sandbox) Check() error {
	if s == nil {
		return nil
	}
	switch s.Kind {
	case SandboxNone, SandboxBwrap, SandboxDocker, SandboxPodman:
	default:
		return Errorf(EInvalid, "nothing was started: %q is not a sandbox: choose %s, %s, %s or %s", s.Kind, SandboxNone,
			SandboxBwrap, SandboxDocker, SandboxPodman)
	}
	if s.Image != "" && !s.Container() {
		return Errorf(EInvalid, "nothing was started: an image is for --sandbox %s or %s", SandboxPodman, SandboxDocker)
	}
	if err := ImageName(s.Image); err != nil {
		return Errorf(EInvalid, "nothing was started: %w", err)
	}
	if !slices.Contains([]SandboxNetwork{"", NetworkAll, NetworkNone, NetworkModel}, s.Network) {
		if _, err := s.Network.Servers(); err != nil {
			return Errorf(EInvalid, "nothing was started: the network %q of a sandbox: %w", s.Network, err)
		}
	}
	if _, err := s.Limit.Parse(); err != nil {
		return Errorf(EInvalid, "nothing was started: the limit %q of a sandbox: %w", s.Limit, err)
	}
	if !s.On() && s.Limit.On() {
		return Errorf(EInvalid, "nothing was started: without a sandbox, Coleo enforces no limits: add --sandbox %s",
			SandboxBwrap)
	}
	if !s.On() && s.Network != "" && s.Network != NetworkAll {
		return Errorf(EInvalid, "nothing was started: without a sandbox, Coleo takes no network away: add --sandbox %s",
			SandboxBwrap)
	}
	return nil
}

// Filtered reports whether the agent CLI reaches only some servers, through a proxy.
func (n SandboxNetwork) Filtered() bool {
	return n == NetworkModel || strings.HasPrefix(string(n), string(NetworkAllow))
}

// HostPort is a host with a port.
type HostPort struct {
	Host string // the host: a name in small letters, or an IP address in its usual form
	Port uint16
}

// Loopback reports whether the host is this machine: a loopback address or localhost.
func (s HostPort) Loopback() bool {
	addr, err := netip.ParseAddr(s.Host)
	return s.Host == "localhost" || err == nil && addr.IsLoopback()
}

const (
	// maxServers is the maximum number of servers in a list. It is small enough for a person to read
	// the list.
	maxServers = 50
	// FirstPort is the lowest port of this machine that a sandbox can reach. For each such port, a
	// program in the sandbox listens on the same port and forwards the connections. This program does
	// not have the privileges that lower ports need.
	FirstPort = 1024
)

// Servers returns the servers in a list that begins with NetworkAllow. A host without a port means
// the ports 443 and 80. For NetworkAll, NetworkNone, NetworkModel and "", Servers returns no servers.
// For any other text, it returns EInvalid.
func (n SandboxNetwork) Servers() ([]HostPort, error) {
	text, ok := strings.CutPrefix(string(n), string(NetworkAllow))
	switch {
	case slices.Contains([]SandboxNetwork{"", NetworkAll, NetworkNone, NetworkModel}, n):
		return nil, nil
	case !ok:
		return nil, Errorf(EInvalid, "choose %s, %s, %s or %sHOST[:PORT],…", NetworkAll, NetworkNone, NetworkModel,
			NetworkAllow)
	}
	var out []HostPort
	for one := range strings.SplitSeq(text, ",") {
		host, port, err := ParseServer(one)
		if err != nil {
			return nil, err
		}
		if server := (HostPort{host, port}); server.Loopback() && port < FirstPort {
			return nil, Errorf(EInvalid, "%s is this machine: name a port from %d on, such as %s:8080", one, FirstPort, host)
		}
		out = append(out, HostPort{host, cmp.Or(port, 443)})
		if port == 0 {
			out = append(out, HostPort{host, 80})
		}
	}
	if len(out) > maxServers {
		return nil, Errorf(EInvalid, "a list has at most %d servers", maxServers)
	}
	return out, nil
}

// ParseServer returns the host and the port of HOST or HOST:PORT. The port is 0 if the text
// contains no port. An IPv6 address with a port must be in brackets. For any other text,
// ParseServer returns EInvalid.
func ParseServer(text string) (host string, port uint16, err error) {
	host, digits := text, ""
	at := strings.LastIndexByte(text, ':')
	if addr, err := netip.ParseAddr(strings.Trim(text, "[]")); err == nil && addr.Is6() {
		host = strings.Trim(text, "[]")
	} else if at >= 0 {
		host, digits = text[:at], text[at+1:]
		number, err := strconv.ParseUint(digits, 10, 16)
		if err != nil || number == 0 || digits[0] == '+' {
			return "", 0, Errorf(EInvalid, "%q: %q is not a port", text, digits)
		}
		port = uint16(number)
		if inner, ok := strings.CutPrefix(host, "["); ok {
			host = strings.TrimSuffix(inner, "]")
			if addr, err := netip.ParseAddr(host); err != nil || !addr.Is6() {
				return "", 0, Errorf(EInvalid, "%q: %q is not an IPv6 address", text, host)
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

// These constants are the limits of host names in RFC 1035.
const (
	maxHostName = 253 // bytes
	maxLabel    = 63  // bytes between two dots
)

// HostName returns a host in its usual form: an IPv4 address, or a name in small letters without a
// dot at the end. For anything else, it returns EInvalid. Unusual forms of an IPv4 address, such as
// 127.1 and 0x7f000001, are also errors.
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

// SandboxLimit says how much of the machine a sandboxed arm can use. It is LimitNone, or a list such
// as "memory=4G,pids=500,cpus=2". "" means the default in a request, and no limits in an arm's
// configuration.
type SandboxLimit string

// LimitNone means no limits.
const LimitNone SandboxLimit = "none"

// On reports whether there is a limit.
func (l SandboxLimit) On() bool { return l != "" && l != LimitNone }

// SandboxLimits contains the values in a SandboxLimit. 0 means that there is no such limit.
type SandboxLimits struct {
	Memory int64   // in bytes
	PIDs   int     // the largest number of processes and threads
	CPUs   float64 // the largest number of processors that the arm can keep busy
}

// These are the smallest limits with which an agent CLI and its hook can start.
const (
	minMemory = 256 << 20
	minPIDs   = 50
	minCPUs   = 0.1
)

// Parse returns the values in a limit. It returns EInvalid if the list is wrong.
func (l SandboxLimit) Parse() (SandboxLimits, error) {
	var out SandboxLimits
	if !l.On() {
		return out, nil
	}
	seen := map[string]bool{}
	for part := range strings.SplitSeq(string(l), ",") {
		name, value, _ := strings.Cut(part, "=")
		if seen[name] {
			return SandboxLimits{}, Errorf(EInvalid, "%s is named twice", name)
		}
		seen[name] = true
		var err error
		switch name {
		case "memory":
			if out.Memory, err = parseSize(value); err == nil && out.Memory < minMemory {
				err = Errorf(EInvalid, "memory=%s is too little: an agent CLI needs at least 256M", value)
			}
		case "pids":
			if out.PIDs, err = strconv.Atoi(value); err != nil || out.PIDs < minPIDs || out.PIDs > 1<<22 {
				err = Errorf(EInvalid, "pids=%s is not a number of processes from %d to 4194304", value, minPIDs)
			}
		case "cpus":
			if out.CPUs, err = strconv.ParseFloat(value, 64); err != nil || !(out.CPUs >= minCPUs && out.CPUs <= 1<<16) {
				err = Errorf(EInvalid, "cpus=%s is not a number of processors of at least %g, such as 1.5", value, minCPUs)
			}
		default:
			err = Errorf(EInvalid, "%q is none of memory=SIZE, pids=NUMBER and cpus=NUMBER", part)
		}
		if err != nil {
			return SandboxLimits{}, err
		}
	}
	return out, nil
}

// parseSize returns the bytes of a size such as 4G. The units are powers of 1024, as in docker and
// systemd.
func parseSize(text string) (int64, error) {
	wrong := Errorf(EInvalid, "memory=%s is not a size, such as 512M or 4G", text)
	if text == "" {
		return 0, wrong
	}
	digits, shift := text, 0
	if at := strings.IndexByte("KMGT", text[len(text)-1]&^0x20); at >= 0 {
		digits, shift = text[:len(text)-1], 10*(at+1)
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n <= 0 || n > 1<<50>>shift {
		return 0, wrong
	}
	return n << shift, nil
}

// List returns the limits as a SandboxLimit that Parse accepts, or "" if there are no limits.
func (l SandboxLimits) List() SandboxLimit {
	var out []string
	if l.Memory > 0 {
		out = append(out, "memory="+strconv.FormatInt(l.Memory, 10))
	}
	if l.PIDs > 0 {
		out = append(out, "pids="+strconv.Itoa(l.PIDs))
	}
	if l.CPUs > 0 {
		out = append(out, "cpus="+strconv.FormatFloat(l.CPUs, 'g', -1, 64))
	}
	return SandboxLimit(strings.Join(out, ","))
}
