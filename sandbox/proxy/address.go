package proxy

import (
	"net/netip"
	"slices"
)

// kind is the use for which an address is reserved.
type kind int

const (
	public  kind = iota // a server on the internet
	private             // this machine or a private network
	special             // an address with another use, such as one of the machine's own network segment
	never               // an address that no server has, or that many servers have at once
)

// privateRanges are the addresses of private networks and of this machine: RFC 1918, RFC 6598,
// RFC 1122 and RFC 4193.
var privateRanges = prefixes("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "127.0.0.0/8",
	"::1/128", "fc00::/7")

// neverRanges contains the addresses that no single server has: "this host", multicast and
// broadcast. They must be refused, because the kernel would treat an address of "this host" as
// this machine.
var neverRanges = prefixes("0.0.0.0/8", "224.0.0.0/4", "255.255.255.255/32", "::/128", "ff00::/8")

// specialRanges contains the other addresses that are not globally reachable, according to IANA's
// registries of special addresses. They include link-local addresses, at which clouds give out
// credentials.
var specialRanges = prefixes("169.254.0.0/16", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15",
	"198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")

// The prefix global is the only part of IPv6 in which servers on the internet have addresses (RFC
// 4291).
var global = netip.MustParsePrefix("2000::/3")

// translated contains the IPv6 addresses whose last 32 bits are an IPv4 address (RFC 6052).
var translated = netip.MustParsePrefix("64:ff9b::/96")

func prefixes(list ...string) (out []netip.Prefix) {
	for _, text := range list {
		out = append(out, netip.MustParsePrefix(text))
	}
	return out
}

// kindOf returns the kind of an address. An address with a zone is special.
func kindOf(addr netip.Addr) kind {
	if translated.Contains(addr) {
		raw := addr.As16()
		addr = netip.AddrFrom4([4]byte(raw[12:]))
	}
	addr = addr.Unmap()
	in := func(list []netip.Prefix) bool {
		return slices.ContainsFunc(list, func(p netip.Prefix) bool { return p.Contains(addr) })
	}
	switch {
	case !addr.IsValid() || in(neverRanges):
		return never
	case addr.Zone() != "":
		return special
	case in(privateRanges):
		return private
	case in(specialRanges), addr.Is6() && !global.Contains(addr):
		return special
	}
	return public
}
