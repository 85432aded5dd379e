package launch

import (
	"cmp"
	"net/url"
	"path/filepath"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/rules"
	"coleo.dev/sandbox/proxy"
)

// The names of the files about the network. They are in the folder of one start of the arm.
const (
	networkRules  = "network.json"
	networkRecord = "network.jsonl"
)

// NetworkRecord returns the path of the file with the hosts that a sandboxed arm has reached, and the
// hosts that its sandbox has refused. The parameter `dir` is the folder of one start of the arm. The
// file exists only if the sandbox may reach some hosts but not all.
func NetworkRecord(dir string) string { return filepath.Join(dir, networkRecord) }

// networkFile writes a file with the hosts that the arm's sandbox may reach, and returns the file's
// path. The parameter `env` is the environment of the agent CLI.
func networkFile(s *rules.Spec, c *coleo.SpawnConfig, env map[string]string) (string, error) {
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"} {
		if env[name] != "" {
			return "", coleo.Errorf(coleo.EUnsupported, "%s was not started: %s names a proxy, and a sandbox with "+
				"--sandbox-net %s has its own, which uses no other: unset it, or choose --sandbox-net all",
				s.Title, name, c.Sandbox.Network)
		}
	}
	found, err := networkOf(s, c, env)
	if err != nil {
		return "", err
	}
	path := filepath.Join(c.Dir, networkRules)
	return path, proxy.Config{Rules: found, Log: NetworkRecord(c.Dir)}.Write(path)
}

// networkOf returns the hosts that the arm's sandbox may reach: the model, and the servers that the
// user lists.
func networkOf(s *rules.Spec, c *coleo.SpawnConfig, env map[string]string) (proxy.Rules, error) {
	var out proxy.Rules
	listed, err := c.Sandbox.Network.Servers()
	if err != nil {
		return out, err
	}
	for _, server := range listed {
		addServer(&out, server, false)
	}
	endpoints, err := endpointsOf(s, c, env)
	if err != nil {
		return out, err
	}
	for _, server := range endpoints {
		if server.Loopback() && server.Port < coleo.FirstPort {
			return out, coleo.Errorf(coleo.EUnsupported, "%s was not started: its model server has port %d on this machine, "+
				"and a sandbox reaches ports from %d on", s.Title, server.Port, coleo.FirstPort)
		}
		addServer(&out, server, true)
	}
	if len(endpoints) == 0 {
		for _, text := range s.Launch.ModelHosts {
			host, port, err := coleo.ParseServer(text)
			if err != nil {
				return out, err
			}
			addServer(&out, coleo.HostPort{Host: host, Port: cmp.Or(port, usualPorts["https"])}, false)
		}
	}
	if len(endpoints)+len(s.Launch.ModelHosts) == 0 {
		return out, coleo.Errorf(coleo.EUnsupported, "%s was not started: nobody has said where its model is: name the "+
			"model's server with --endpoint, or choose --sandbox-net all", s.Title)
	}
	return out, nil
}

// addServer adds a server to the hosts that the sandbox may reach. `private` is true for a model server
// that the user has chosen. The name of such a server may lead to a private address. If the server is
// on this machine, the sandbox reaches it at the same port of its own loopback address.
func addServer(to *proxy.Rules, server coleo.HostPort, private bool) {
	rule := proxy.Rule{Host: server.Host, Port: server.Port, Private: private || server.Loopback()}
	to.Allow = append(to.Allow, rule)
	if server.Loopback() {
		to.Forward = append(to.Forward, rule)
	}
}

// endpointsOf returns the model servers that the user has chosen, by the arm's endpoint or by the
// variables of the harness. It returns nil if the agent CLI uses its usual servers.
func endpointsOf(s *rules.Spec, c *coleo.SpawnConfig, env map[string]string) ([]coleo.HostPort, error) {
	if c.Endpoint != "" {
		server, err := serverOf(c.Endpoint)
		if err != nil {
			return nil, coleo.Errorf(coleo.EInvalid, "%s was not started: the endpoint %w", s.Title, err)
		}
		return []coleo.HostPort{server}, nil
	}
	var out []coleo.HostPort
	for _, name := range s.Launch.EndpointEnv {
		if env[name] == "" {
			continue
		}
		server, err := serverOf(env[name])
		if err != nil {
			return nil, coleo.Errorf(coleo.EInvalid, "%s was not started: the variable %s %w", s.Title, name, err)
		}
		out = append(out, server)
	}
	return out, nil
}

// usualPorts contains the default port of each URL scheme.
var usualPorts = map[string]uint16{"http": 80, "https": 443, "ws": 80, "wss": 443}

// serverOf returns the server of a URL.
func serverOf(text string) (coleo.HostPort, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || usualPorts[u.Scheme] == 0 {
		return coleo.HostPort{}, coleo.Errorf(coleo.EInvalid, "is not a URL with http:// or https:// and a host")
	}
	host, port, err := coleo.ParseServer(u.Host)
	if err != nil {
		return coleo.HostPort{}, coleo.Errorf(coleo.EInvalid, "names no server: %w", err)
	}
	return coleo.HostPort{Host: host, Port: cmp.Or(port, usualPorts[u.Scheme])}, nil
}
