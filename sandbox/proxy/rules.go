package proxy

import (
	"net/netip"
	"slices"
	"strconv"
)

// Rule is one server that the sandbox may reach.
type Rule struct {
	Host string `json:"host"` // a name in small letters, or an IP address in its usual form
	Port uint16 `json:"port"`
	// Private says that the name of the host may lead to an address of a private network or of this
	// machine. An IP address in Host always may.
	Private bool `json:"private,omitempty"`
}

// Rules lists everything that a sandbox may reach.
type Rules struct {
	Allow []Rule `json:"allow,omitempty"`
	// Forward lists servers of this machine. Inside the sandbox, each of them has the same port on
	// the loopback interface. So a program reaches them without knowing the proxy. Each of them
	// also needs a rule in Allow.
	Forward []Rule `json:"forward,omitempty"`
}

// find returns the rule for a host and a port. A rule whose name may lead to a private address comes
// first.
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

// permits returns "" if the proxy may connect to an address of the host in rule. Otherwise it
// returns the reason, in words for people.
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

// authority returns the host and the port as they are written in a URL.
func authority(host string, port uint16) string {
	if addr, err := netip.ParseAddr(host); err == nil && addr.Is6() {
		host = "[" + host + "]"
	}
	return host + ":" + strconv.Itoa(int(port))
}
