package proxy

import (
	"net/netip"
	"testing"
)

func TestKindsOfAddresses(t *testing.T) {
	t.Parallel()
	for want, list := range map[kind][]string{
		public: {"1.1.1.1", "8.8.8.8", "100.63.255.255", "100.128.0.0", "172.15.0.1", "172.32.0.1", "192.169.0.1",
			"2606:4700::1111", "2a00::1", "::ffff:8.8.8.8", "64:ff9b::808:808"},
		private: {"10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1", "127.0.0.1", "127.255.0.1",
			"::1", "fc00::1", "fd00::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a00:1"},
		special: {"169.254.169.254", "192.0.0.1", "192.0.2.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "240.0.0.1",
			"fe80::1", "fec0::1", "2001::1", "2001:db8::1", "2002:7f00:1::", "::7f00:1", "::8.8.8.8", "64:ff9b:1::7f00:1",
			"100::1", "fe80::1%lo", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "4000::1"},
		never: {"0.0.0.0", "0.1.2.3", "255.255.255.255", "224.0.0.1", "239.255.255.250", "::", "ff02::1",
			"::ffff:0.0.0.0", "64:ff9b::"},
	} {
		for _, text := range list {
			if got := kindOf(netip.MustParseAddr(text)); got != want {
				t.Errorf("%s is of kind %d; want %d", text, got, want)
			}
		}
	}
	if got := kindOf(netip.Addr{}); got != never {
		t.Errorf("no address is of kind %d", got)
	}
}

func TestWhatRulesPermit(t *testing.T) {
	t.Parallel()
	rules := Rules{Allow: []Rule{{Host: "model", Port: 443, Private: true}, {Host: "name", Port: 443},
		{Host: "10.0.0.5", Port: 443}, {Host: "169.254.1.1", Port: 80}, {Host: "0.0.0.0", Port: 80}}}
	for _, c := range []struct {
		host, addr string
		port       uint16
		want       bool
	}{
		{"model", "127.0.0.1", 443, true}, {"model", "10.0.0.1", 443, true}, {"model", "::1", 443, true},
		{"model", "169.254.169.254", 443, false}, {"model", "0.0.0.0", 443, false}, {"model", "1.1.1.1", 443, true},
		{"name", "127.0.0.1", 443, false}, {"name", "1.1.1.1", 443, true}, {"name", "10.0.0.6", 443, false},
		{"name", "10.0.0.5", 443, true}, // allowed, because a person has also named this address
		{"169.254.1.1", "169.254.1.1", 80, true}, {"0.0.0.0", "0.0.0.0", 80, false},
	} {
		rule, ok := rules.find(c.host, c.port)
		if !ok {
			t.Fatalf("there is no rule for %s", c.host)
		}
		if reason := rules.permits(rule, netip.MustParseAddr(c.addr)); (reason == "") != c.want {
			t.Errorf("%s at %s: %q; want that it is permitted: %t", c.host, c.addr, reason, c.want)
		}
	}
	for _, c := range []struct {
		host string
		port uint16
	}{{"model", 80}, {"mode", 443}, {"x.model", 443}, {"10.0.0.5", 80}, {"", 443}} {
		if rule, ok := rules.find(c.host, c.port); ok {
			t.Errorf("%s port %d has the rule %+v", c.host, c.port, rule)
		}
	}
}
