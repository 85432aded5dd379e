package coleo_test

import (
	"slices"
	"strings"
	"testing"

	"coleo.dev"
)

func TestTheNetworkOfASandboxIsAWordOrAList(t *testing.T) {
	t.Parallel()
	for text, want := range map[coleo.SandboxNetwork][]coleo.HostPort{
		"": nil, "all": nil, "none": nil, "model": nil,
		"allow=Example.com":                  {{Host: "example.com", Port: 443}, {Host: "example.com", Port: 80}},
		"allow=example.com:8443,10.0.0.1:22": {{Host: "example.com", Port: 8443}, {Host: "10.0.0.1", Port: 22}},

		"allow=[2001:DB8::1]:443":             {{Host: "2001:db8::1", Port: 443}},
		"allow=localhost:8080,127.0.0.1:8080": {{Host: "localhost", Port: 8080}, {Host: "127.0.0.1", Port: 8080}},
		"allow=[::ffff:10.0.0.1]:443":         {{Host: "10.0.0.1", Port: 443}},
	} {
		got, err := text.Servers()
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s has %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []coleo.SandboxNetwork{"allow=", "allow", "allow=a,", "allow=a b", "allow=http://a.example/",
		"allow=a:0", "allow=a:x", "allow=a:70000", "allow=a:+1", "allow=127.1", "allow=localhost", "allow=127.0.0.1:80",
		"allow=localhost:808", "allow=*.a.example", "allow=a/8", "models",
		"allow=" + coleo.SandboxNetwork(strings.Repeat("a,", 30)) + "a"} {
		s := &coleo.Sandbox{Kind: coleo.SandboxBwrap, Network: text}
		if err := s.Check(); coleo.ErrorCode(err) != coleo.EInvalid {
			t.Errorf("the network %q: %v; want EInvalid", text, err)
		}
	}
	for network, want := range map[coleo.SandboxNetwork]string{"model": "bwrap (network: model)",
		"allow=a.example": "bwrap (network: allow=a.example)"} {
		if got := (&coleo.Sandbox{Kind: coleo.SandboxBwrap, Network: network}).String(); got != want {
			t.Errorf("the sandbox is %q; want %q", got, want)
		}
		err := (&coleo.Sandbox{Kind: coleo.SandboxNone, Network: network}).Check()
		if coleo.ErrorCode(err) != coleo.EInvalid {
			t.Errorf("the network %q without a sandbox: %v; want EInvalid", network, err)
		}
	}
}

func TestALimitIsAListOfParts(t *testing.T) {
	t.Parallel()
	for text, want := range map[coleo.SandboxLimit]coleo.SandboxLimits{
		"": {}, "none": {}, "memory=4G": {Memory: 4 << 30}, "memory=512m,pids=500,cpus=1.5": {Memory: 512 << 20, PIDs: 500,
			CPUs: 1.5}, "cpus=0.5": {CPUs: 0.5}, "memory=268435456": {Memory: 256 << 20}, "pids=50": {PIDs: 50},
	} {
		got, err := text.Parse()
		again, errAgain := got.List().Parse()
		if err != nil || errAgain != nil || got != want || again != want {
			t.Errorf("%q = %+v, %v; written %q, which is %+v, %v; want %+v", text, got, err, got.List(), again, errAgain, want)
		}
	}
	for _, text := range []coleo.SandboxLimit{"memory", "memory=", "memory=4GB", "memory=-4G", "memory=0", "memory=4 G",
		"memory=G", "memory=9999999T", "memory=1.5G", "memory=1M", "pids=0", "pids=-1", "pids=1e3", "pids=", "cpus=0",
		"cpus=nan", "cpus=inf", "cpus=-1", "cpus=", "memory=4G,", ",", "memory=4G,memory=4G", "swap=1G", "Memory=4G",
		"memory=4G;pids=500", "none,memory=4G", "memory=4É"} {
		if got, err := text.Parse(); coleo.ErrorCode(err) != coleo.EInvalid || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q = %+v, %v; want EInvalid", text, got, err)
		}
	}
}
