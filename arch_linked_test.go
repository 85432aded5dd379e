package coleo_test

import (
	"path"
	"strings"
	"testing"
)

// These tests check that clients of serve, such as the verbs of coleo, do not link serve's bus and databases. A
// client needs only the API. If it links these parts too, its test binary is slow to link, and it can bypass
// serve without anybody noticing.

// serverOnly contains the prefixes of import paths that belong to serve. The value says what the packages with
// this prefix are.
var serverOnly = map[string]string{
	"github.com/nats-io/":         "the bus",
	"github.com/mattn/go-sqlite3": "the databases",
}

// clients contains the packages that reach Coleo only over the API. An entry that ends in / applies to all
// folders below it.
var clients = []string{"api/apiclient", "operatortools", "cmd/coleo/"}

// linksServer contains the folders below clients that may link the packages of serverOnly, each with the
// reason.
var linksServer = map[string]string{
	"cmd/coleo/server":    "it contains serve and the host agent",
	"cmd/coleo/harness":   "it tests a harness with a host agent in its own process",
	"cmd/coleo/installed": "it contains the harnesses, and OpenCode's record is a database",
}

// linked returns the packages that the tests of a package link. The keys are these packages. The value of a key
// is the package that imports it.
func linked(all []source, dir string) map[string]string {
	from := map[string]string{}
	var follow func(dir string, tests bool)
	follow = func(dir string, tests bool) {
		for _, s := range all {
			if s.dir() != dir || s.isTest() && !tests {
				continue
			}
			for _, p := range s.imports {
				if _, known := from[p]; known {
					continue
				}
				from[p] = path.Join(module, dir)
				if name, ours := strings.CutPrefix(p, module+"/"); ours {
					follow(name, false)
				}
			}
		}
	}
	follow(dir, true)
	return from
}

func TestNoClientImportsTheServer(t *testing.T) {
	t.Parallel()
	all := sources(t)
	dirs := map[string]bool{}
	for _, s := range all {
		dirs[s.dir()] = matches(clients, s.dir())
	}
	for dir, isClient := range dirs {
		if !isClient {
			continue
		}
		from := linked(all, dir)
		found := serverParts(from)
		for p, what := range found {
			if linksServer[dir] == "" {
				t.Errorf("%s links %s: %s", dir, what, way(from, dir, p))
			}
		}
		if linksServer[dir] != "" && len(found) == 0 {
			t.Errorf("%s does not link the server: remove it from linksServer", dir)
		}
	}
	for dir := range linksServer {
		if !dirs[dir] {
			t.Errorf("%s is not a client: remove it from linksServer", dir)
		}
	}
}

// serverParts selects the packages that serverOnly contains. It returns them with what they belong to.
func serverParts(from map[string]string) map[string]string {
	found := map[string]string{}
	for p := range from {
		for prefix, what := range serverOnly {
			if strings.HasPrefix(p, prefix) {
				found[p] = what
			}
		}
	}
	return found
}

// way returns the chain of imports that leads from a package to another.
func way(from map[string]string, dir, to string) string {
	chain := to
	for to != path.Join(module, dir) {
		to = from[to]
		chain = to + " -> " + chain
	}
	return chain
}
