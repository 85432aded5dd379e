package coleo_test

import (
	"strings"
	"testing"
)

// home contains, for each third-party package, the packages that may import it. A key is a prefix
// of import paths. A value that ends in / applies to all folders below it. golang.org/x/sys is
// missing on purpose: it is the interface to the kernel, and any package may import it.
var home = map[string][]string{
	"github.com/google/renameio/v2":          {"wholefile"},
	"github.com/creack/pty":                  {"pty/device"},
	"github.com/tidwall/sjson":               {"harnesses/terminal/launch"},
	"github.com/fsnotify/fsnotify":           {"filewatch"},
	"github.com/hinshun/vt10x":               {"pty/vt10x", "bench/peers"},
	"github.com/charmbracelet/x/vt":          {"bench/peers"}, // bench/peers is a separate module
	"github.com/acarl005/stripansi":          {"cmd/coleo/show"},
	"github.com/spf13/cobra":                 {"cmd/coleo", "cmd/coleo/"},
	"github.com/mattn/go-sqlite3":            {"sqlite"},
	"github.com/gorilla/websocket":           {"api", "api/apiclient"},
	"github.com/danielgtaylor/huma":          {"api"},
	"github.com/nats-io/nats.go":             {"bus"},
	"github.com/nats-io/nkeys":               {"bus"},
	"github.com/nats-io/nats-server":         {"bus/busserver"},
	"github.com/pelletier/go-toml":           {"config"},
	"github.com/modelcontextprotocol/go-sdk": {"conformance/mcpserver", "armtools", "operatortools"},
	"github.com/google/jsonschema-go":        {"checked"},
	"golang.org/x/sys": {"pty", "pty/device", "holder", "holder/", "localsocket",
		"boottime", "conformance/netns", "sandbox", "sandbox/container", "sandbox/inside", "sandbox/limits", "workspace/git",
		"workspace/gittest"},
	"github.com/netresearch/go-cron": {"trigger"},
	"mvdan.cc/sh":                    {"policy/commandline", "workspace/script"},
	"golang.org/x/term": {"cmd/coleo", "cmd/coleo/show", "cmd/coleo/arm", "cmd/coleo/terminal",
		"cmd/coleo/workspace"},
}

func TestEachThirdPartyPackageHasOneHome(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		for _, p := range s.imports {
			first, _, _ := strings.Cut(p, "/")
			if !strings.Contains(first, ".") || first == module {
				continue
			}
			if !isHome(p, s.dir()) {
				t.Errorf("%s imports %s, which has no home there: see docs/design.md and arch_thirdparty_test.go", s.path, p)
			}
		}
	}
}

func isHome(path, dir string) bool {
	for prefix, homes := range home {
		if strings.HasPrefix(path, prefix) {
			return matches(homes, dir)
		}
	}
	return false
}
