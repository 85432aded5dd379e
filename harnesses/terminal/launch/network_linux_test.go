package launch

import (
	"slices"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/sandbox/proxy"
)

// filtered returns a start in a sandbox that may reach some hosts.
func filtered(t *testing.T, network coleo.SandboxNetwork) *boxed {
	b := newBoxed(t)
	b.spec = strings.Replace(b.spec, `credentials_env = ["X_HOME", "X_KEY"]`,
		"credentials_env = [\"X_KEY\", \"X_URL\"]\nmodel_hosts = [\"api.x.example\"]\nendpoint_env = [\"X_URL\"]", 1)
	b.c.Sandbox.Network = network
	return b
}

func TestM32ASandboxReachesItsModelAndWhatIsListed(t *testing.T) {
	t.Parallel()
	usual := proxy.Rule{Host: "api.x.example", Port: 443}
	local := proxy.Rule{Host: "127.0.0.1", Port: 4000, Private: true}
	for name, c := range map[string]struct {
		network        coleo.SandboxNetwork
		endpoint       string
		environ        []string
		allow, forward []proxy.Rule
	}{
		"the usual model": {network: "model", allow: []proxy.Rule{usual}},
		"a list": {network: "allow=A.example:22,10.0.0.1,localhost:8080", allow: []proxy.Rule{{Host: "a.example", Port: 22},
			{Host: "10.0.0.1", Port: 443}, {Host: "10.0.0.1", Port: 80}, {Host: "localhost", Port: 8080, Private: true}, usual},
			forward: []proxy.Rule{{Host: "localhost", Port: 8080, Private: true}}},
		"a model that the environment names": {network: "model", environ: []string{"X_URL=https://llm.corp/v1"},
			allow: []proxy.Rule{{Host: "llm.corp", Port: 443, Private: true}}},
		"a model on this machine": {network: "model", environ: []string{"X_URL=http://127.0.0.1:4000/v1"},
			allow: []proxy.Rule{local}, forward: []proxy.Rule{local}},
		"the endpoint of the arm": {network: "model", endpoint: "http://127.0.0.1:4000",
			environ: []string{"X_URL=https://llm.corp"},
			allow:   []proxy.Rule{local}, forward: []proxy.Rule{local}},
	} {
		b := filtered(t, c.network)
		b.c.Environ, b.c.Endpoint = append(b.c.Environ, c.environ...), c.endpoint
		argv, _, err := b.plan(t)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		at := slices.Index(argv, "--network")
		if at < 0 || !slices.Contains(argv, "--unshare-net") || slices.Index(argv[at+1:], "--network") < 0 {
			t.Errorf("%s: the command line has no network of its own: %q", name, argv)
			continue
		}
		got, err := proxy.ReadConfig(argv[at+1])
		if err != nil || !slices.Equal(got.Allow, c.allow) || !slices.Equal(got.Forward, c.forward) ||
			got.Log != NetworkRecord(b.c.Dir) {
			t.Errorf("%s: %+v, %v; want %+v and %+v", name, got, err, c.allow, c.forward)
		}
		if bound(argv)[argv[at+1]] != "" {
			t.Errorf("%s: the sandbox shows its rules", name)
		}
	}
}

func TestANetworkThatCannotBeIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		environ string
		change  func(*boxed)
		want    string
	}{
		"a proxy of the user":   {environ: "HTTPS_PROXY=http://proxy:3128", want: "HTTPS_PROXY names a proxy"},
		"a small port":          {environ: "X_URL=http://localhost:80", want: "port 80 on this machine"},
		"an endpoint of no web": {environ: "X_URL=file:///x", want: "X_URL is not a URL"},
		"a harness without a model": {change: func(b *boxed) {
			b.spec = strings.Replace(b.spec, `model_hosts = ["api.x.example"]`, "", 1)
		}, want: "nobody has said where its model is"},
	} {
		b := filtered(t, coleo.NetworkModel)
		b.c.Environ = append(b.c.Environ, c.environ)
		if c.change != nil {
			c.change(b)
		}
		if argv, _, err := b.plan(t); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, %v; want %q", name, argv, err, c.want)
		}
	}
}
