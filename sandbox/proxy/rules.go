package proxy

import (
	"net/netip"
	"slices"
	"strconv"
)

// Rule is one server that the sandbox may reach.
type Rule struct {
	Host string `json:"host"` // a name in lower case, or an IP address in its usual form
	Port uint16 `json:"port"`
	// Private allows the host's name to lead to an address of a private network or of this machine.
	// For an IP address in Host, Private is not needed.
	Private bool `json:"private,omitempty"`
}

// Rules lists everything that a sandbox may reach.
type Rules struct {
	Allow []Rule `json:"allow,omitempty"`
	// Forward lists servers on this machine. Each server has the same port on the sandbox's loopback interface, so
	// that a program reaches the server without any proxy settings. Each server also needs a rule in Allow.
	Forward []Rule `json:"forward,omitempty"`
}

// find returns the rule for a host and a port. If several rules match, it prefers one that allows
// private addresses.
func (r Rules) find(host string, port uint16) (Rule, bool) {
	var found Rule
	ok := false
	for _, rule := range r.Allow {
		if rule.Host == host && rule.Port == port && (!ok || rule.Private) {
			found, ok = rule, true
		}
	}
	return found, ok
}

// permits returns "" if the proxy may connect to addr for the rule's host. Otherwise it returns the
// reason for people.
func (r Rules) permits(rule Rule, addr netip.Addr) string {
	kind := kindOf(addr)
	if kind == public {
		return ""
	}
	named := func(rule Rule, port uint16) bool { return rule.Port == port && rule.Host == addr.Unmap().String() }
	byPerson := slices.ContainsFunc(r.Allow, func(other Rule) bool { return named(other, rule.Port) })
	if byPerson && kind != never || rule.Private && kind == private {
		return ""
	}
	return "its address " + addr.String() + " is no public one"
}

// authority returns the host and the port in the form that URLs use.
func authority(host string, port uint16) string {
	if addr, err := netip.ParseAddr(host); err == nil && addr.Is6() {
		host = "[" + host + "]"
	}
	return host + ":" + strconv.Itoa(int(port))
}
