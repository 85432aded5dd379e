package coleo_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// module is this module's import path.
const module = "coleo.dev"

// mayImport contains, for each package, the packages of this module that it may import. A key that
// ends in / applies to all folders below it. Add an entry only with a good reason.
var mayImport = map[string][]string{
	".":                          {},
	"armenv":                     {"."},
	"timelimit":                  {"."},
	"waitfor":                    {"."},
	"armname":                    {"."},
	"config":                     {".", "printable", "wholefile"},
	"pty":                        {".", "pty/width"},
	"pty/width":                  {},
	"pty/device":                 {"pty"},
	"pty/vt10x":                  {".", "pty"},
	"filewatch":                  {},
	"record":                     {".", "filewatch", "printable", "wholefile", "paths"},
	"store/lock":                 {"."},
	"store/reserve":              {},
	"record/recordtest":          {".", "record", "trace", "graph"},
	"record/databasetest":        {".", "record", "record/recordtest", "sqlite"},
	"sqlite":                     {},
	"store":                      {".", "armname", "store/lock", "store/reserve", "paths", "sqlite", "trace", "trigger"},
	"trigger":                    {".", "printable"},
	"trigger/runner":             {".", "brain", "store", "timelimit", "template", "trigger", "wire"},
	"trace":                      {"."},
	"repeat":                     {"."},
	"recovery":                   {"."},
	"thread":                     {".", "record", "sqlite", "wholefile"},
	"graph":                      {".", "printable"},
	"display":                    {"."},
	"summary":                    {"."},
	"memo":                       {".", "checked", "wire"},
	"modelresolver":              {".", "printable"},
	"pricebook":                  {".", "modelresolver", "wholefile"},
	"cost":                       {"."},
	"budget":                     {"."},
	"loop":                       {"."},
	"web":                        {"."},
	"policy":                     {".", "policy/"},
	"policy/commandline":         {},
	"policy/reading":             {"policy/commandline", "policy/reading/", "printable"},
	"policy/reading/awk":         {"policy/reading/lengthening", "printable"},
	"policy/reading/jq":          {"policy/reading/lengthening", "printable"},
	"policy/reading/lengthening": {},
	"policy/files":               {".", "config", "policy", "wholefile"},
	"template":                   {".", "config", "policy/files", "wire"},
	"workspace": {".", "paths", "workspace/git", "workspace/remote", "workspace/script", "wholefile",
		"printable"},
	"workspace/remote":  {".", "workspace/git", "printable"},
	"workspace/script":  {".", "config", "holder/process", "workspace/git", "wholefile", "printable"},
	"workspace/git":     {".", "paths", "processgroup", "holder/process"},
	"workspace/gittest": {},
	"workspace/merge":   {".", "changes", "workspace", "workspace/git", "wholefile", "paths"},
	"workspace/pull": {".", "processgroup", "workspace", "workspace/git", "workspace/remote", "wholefile",
		"printable"},
	"workspace/pull/fakegh":           {},
	"changes":                         {".", "printable"},
	"changes/folder":                  {".", "paths", "changes", "workspace/git"},
	"hook":                            {},
	"sandbox":                         {".", "paths", "sandbox/inside", "sandbox/limits", "sandbox/proxy", "wholefile"},
	"sandbox/inside":                  {".", "sandbox/limits", "sandbox/proxy"},
	"sandbox/container":               {".", "sandbox/inside", "holder/process"},
	"sandbox/limits":                  {".", "holder/process"},
	"sandbox/proxy":                   {"."},
	"localsocket":                     {".", "wholefile"},
	"wholefile":                       {},
	"paths":                           {},
	"processgroup":                    {},
	"printable":                       {},
	"boottime":                        {},
	"door":                            {".", "localsocket"},
	"subarm":                          {".", "armname", "paths", "printable"},
	"successor":                       {".", "armname", "changes"},
	"armtools":                        {".", "door"},
	"operatortools":                   {".", "api/apiclient", "wire"},
	"bus":                             {".", "timelimit", "localsocket", "boottime", "changes", "wholefile"},
	"bus/busserver":                   {"bus", "localsocket"},
	"bus/bustest":                     {"bus", "bus/busserver", "localsocket"},
	"holder":                          {".", "localsocket", "boottime", "holder/"},
	"holder/process":                  {"."},
	"holder/journal":                  {"holder/tty"},
	"holder/tty":                      {"holder/process", "pty/device"},
	"holder/memory":                   {},
	"holder/socket":                   {"localsocket", "holder/process"},
	"sandbox/container/containertest": {".", "sandbox/container"},
	"harnesses/terminal": {".", "timelimit", "config", "hook", "limit", "pty", "record", "holder",
		"holder/journal", "holder/process",
		"sandbox/container", "harnesses/terminal/", "paths"},
	"harnesses/":         {".", "harnesses/terminal", "holder", "record"},
	"harnesses/opencode": {".", "harnesses/terminal", "record", "sqlite", "paths"},
	// this harness drives the same agent CLI as harnesses/opencode
	"harnesses/opencodeapi": {".", "timelimit", "harnesses/terminal", "harnesses/terminal/launch",
		"harnesses/terminal/rules",
		"harnesses/opencode", "holder", "record", "printable"},
	"harnesses/opencodetui": {".", "harnesses/opencodeapi", "record", "window", "window/pane"},
	"registry":              {".", "config", "filewatch", "harnesses/"},
	"host": {".", "waitfor", "armname", "paths", "pty", "holder", "holder/journal", "holder/process", "store",
		"store/reserve", "trace", "thread", "repeat", "registry",
		"bus", "boottime", "localsocket", "door", "subarm", "host/queue", "budget", "cost", "loop",
		"host/armfolder", "host/armrecord", "host/choosing", "host/lease", "host/metering", "host/spending", "host/toolcalls",
		"host/judge", "host/diffs", "host/worktree", "changes", "policy", "policy/files", "checked",
		"limit", "timelimit", "workspace", "workspace/merge", "wholefile"},
	"checked":        {"."},
	"host/armfolder": {".", "armenv", "holder", "holder/journal", "holder/process", "store", "wholefile"},
	"host/armrecord": {".", "bus", "checked", "host/queue", "limit", "pty", "store"},
	"host/choosing":  {".", "waitfor", "bus", "store"},
	"host/diffs":     {".", "paths", "bus", "changes", "changes/folder", "filewatch", "workspace/git"},
	"host/judge":     {".", "policy", "policy/", "printable"},
	"host/toolcalls": {".", "door", "store", "subarm", "printable"},
	"host/lease":     {"."},
	"host/metering":  {".", "budget", "host/spending", "loop", "store"},
	"host/queue":     {"."},
	"host/worktree":  {".", "workspace"},
	"host/spending":  {".", "paths", "budget", "cost", "store"},
	"limit":          {"."},
	"window":         {".", "printable"},
	"window/pane":    {".", "window", "holder/process"},
	"wire":           {".", "changes", "trigger"},
	"brain": {".", "armname", "wire", "store", "bus", "repeat", "recovery", "modelresolver", "pricebook", "budget", "cost",
		"registry", "graph", "summary", "subarm", "successor", "changes", "limit", "timelimit", "brain/audit",
		"brain/catalogue", "brain/choices", "brain/commands", "brain/comments", "brain/displays", "brain/feed", "brain/memos",
		"brain/models", "brain/origin", "brain/permits", "brain/placement", "brain/roster", "brain/start", "brain/threads",
		"brain/upkeep", "brain/waits"},
	"brain/armvalue":  {"store"},
	"brain/comments":  {".", "brain/armvalue", "changes", "store"},
	"brain/catalogue": {"store"},
	"brain/choices":   {"."},
	"brain/commands":  {".", "bus", "timelimit", "wire"},
	"brain/displays":  {".", "display", "store"},
	"brain/audit":     {".", "store"},
	"brain/feed":      {".", "store", "wire"},
	"brain/permits":   {".", "bus", "store"},
	"brain/models":    {".", "brain/start", "limit", "modelresolver", "pricebook", "wire"},
	"brain/placement": {".", "brain/commands", "bus"},
	"brain/roster":    {".", "brain/choices", "brain/commands", "bus", "store", "timelimit"},
	"brain/start":     {".", "armenv", "brain/choices", "budget", "wire"},
	"brain/waits":     {".", "store", "wire"},
	"brain/threads":   {".", "bus", "store", "summary"},
	"brain/upkeep":    {"repeat", "store"},
	"brain/origin":    {".", "changes", "graph", "store", "wire"},
	"brain/memos":     {".", "brain/armvalue", "memo", "store", "wire"},
	"api": {".", "timelimit", "armenv", "armname", "wire", "brain", "trigger", "cost", "localsocket",
		"web", "api/signin", "api/sse",
		"api/token", "graph", "display", "changes", "printable"},
	"api/apiclient": {".", "wire", "timelimit", "trigger", "cost", "localsocket", "api/sse", "graph", "display",
		"changes"},
	"api/sse":                 {},
	"api/signin":              {".", "wire", "wholefile"},
	"api/token":               {".", "armname", "wire", "printable"},
	"conformance/junit":       {},
	"conformance/patience":    {"."},
	"conformance/netns":       {},
	"conformance/stranger":    {},
	"conformance/modelserver": {},
	"conformance/mcpserver":   {},
	"conformance/fakeagent":   {},
	// plays what a test starts often: holders, hooks and the fake agent CLI
	"conformance/testprogram": {"conformance/fakeagent", "holder", "hook", "sandbox/container", "sandbox/inside",
		"window/pane"},
	"conformance/testprogram/program": {"conformance/testprogram"},
	"conformance/workcheck":           {".", "conformance/modelserver"},
	// runs a whole host agent in its own process
	"conformance/hosted": {".", "waitfor", "bus", "bus/busserver", "host", "registry", "store"},
	"conformance": {".", "waitfor", "pty", "holder", "holder/journal", "holder/process", "registry", "conformance/",
		"harnesses/terminal/mend"},
	"bench": {".", "waitfor", "modelresolver", "pty", "pty/device", "holder", "holder/journal", "registry", "conformance/",
		"bus", "changes", "host/diffs", "workspace"},
	"bench/peers": {"pty"},

	// The parts of harnesses/terminal. None of them imports harnesses/terminal itself.
	"harnesses/terminal/rules":   {".", "config", "hook", "pty", "printable"},
	"harnesses/terminal/reading": {".", "hook", "pty", "record", "harnesses/terminal/rules", "printable"},
	"harnesses/terminal/mend":    {".", "pty", "harnesses/terminal/rules", "harnesses/terminal/reading", "printable"},
	"harnesses/terminal/typing":  {".", "timelimit", "pty", "harnesses/terminal/rules", "harnesses/terminal/reading"},
	"harnesses/terminal/past":    {".", "pty", "holder", "holder/journal", "harnesses/terminal/reading", "paths"},
	"harnesses/terminal/launch": {".", "armenv", "paths", "config", "hook", "holder", "sandbox", "sandbox/container",
		"sandbox/limits", "sandbox/proxy", "harnesses/terminal/rules", "wholefile"},
	"harnesses/terminal/casttest": {"pty"},
	"harnesses/terminal/pack":     {".", "config", "harnesses/terminal/rules", "wholefile"},

	"cmd/coleo-hold": {".", "holder", "hook", "sandbox/container", "sandbox/inside", "window/pane"},
	"cmd/coleo": {".", "api/apiclient", "wire", "armtools", "operatortools", "config", "holder", "holder/journal",
		"holder/process",
		"hook", "sandbox", "sandbox/container", "sandbox/inside", "window/pane", "modelresolver", "wholefile",
		"cmd/coleo/", "paths"},
	"cmd/coleo/verb":       {".", "printable"},
	"cmd/coleo/show":       {".", "printable", "pty", "cmd/coleo/verb"},
	"cmd/coleo/watch":      {".", "pty", "cmd/coleo/show", "printable"},
	"cmd/coleo/executable": {"config", "conformance/netns", "cmd/coleo/verb", "wholefile"},
	"cmd/coleo/setup": {".", "api/apiclient", "api/signin", "config", "holder/process", "store/lock",
		"cmd/coleo/executable", "wholefile", "paths"},
	"cmd/coleo/installed": {".", "harnesses/terminal/launch", "harnesses/terminal/pack", "registry",
		"cmd/coleo/executable", "cmd/coleo/setup"},
	"cmd/coleo/worktrees": {"workspace", "workspace/script", "cmd/coleo/executable", "cmd/coleo/setup"},
	"cmd/coleo/run": {".", "api/apiclient", "wire", "pty", "checked", "cmd/coleo/verb", "cmd/coleo/show",
		"cmd/coleo/setup",
		"printable"},
	"cmd/coleo/recording": {".", "pty", "pty/vt10x", "cmd/coleo/verb"},
	"cmd/coleo/model": {".", "api/apiclient", "wire", "holder/process", "modelresolver", "pricebook", "conformance/",
		"cmd/coleo/verb", "cmd/coleo/executable", "cmd/coleo/setup", "cmd/coleo/show"},
	"cmd/coleo/harness": {".", "pty", "conformance", "conformance/netns", "harnesses/terminal",
		"harnesses/terminal/mend", "harnesses/terminal/pack", "harnesses/terminal/reading", "registry",
		"cmd/coleo/verb", "cmd/coleo/show", "cmd/coleo/executable", "cmd/coleo/installed", "cmd/coleo/setup",
		"cmd/coleo/recording", "wholefile", "paths"},
	"cmd/coleo/queue": {".", "api/apiclient", "cmd/coleo/verb", "cmd/coleo/show", "cmd/coleo/setup"},
	"cmd/coleo/arm": {".", "armenv", "armname", "api/apiclient", "wire", "window", "workspace/pull", "checked",
		"cmd/coleo/verb", "cmd/coleo/show", "cmd/coleo/queue", "cmd/coleo/setup", "cmd/coleo/model",
		"cmd/coleo/template", "cmd/coleo/terminal", "cmd/coleo/watch", "cmd/coleo/worktrees", "cmd/coleo/budget",
		"printable"},
	"cmd/coleo/terminal": {".", "api/apiclient", "wire", "holder/journal", "pty", "window",
		"cmd/coleo/verb", "cmd/coleo/show", "cmd/coleo/setup", "cmd/coleo/executable"},
	"cmd/coleo/fanout": {".", "api/apiclient", "changes", "cost", "wire", "workspace", "cmd/coleo/arm", "cmd/coleo/model",
		"cmd/coleo/setup", "cmd/coleo/show", "cmd/coleo/template", "cmd/coleo/verb", "cmd/coleo/worktrees"},
	"cmd/coleo/template": {".", "wire", "policy/files", "template", "cmd/coleo/verb", "cmd/coleo/setup", "printable"},
	"cmd/coleo/trigger": {".", "api/apiclient", "wire", "template", "trigger", "cmd/coleo/verb", "cmd/coleo/show",
		"cmd/coleo/setup"},
	"cmd/coleo/policy": {".", "api/apiclient", "wire", "config", "policy", "policy/", "cmd/coleo/verb", "cmd/coleo/setup",
		"printable"},
	"cmd/coleo/why": {".", "api/apiclient", "wire", "graph", "cmd/coleo/verb", "cmd/coleo/show", "cmd/coleo/setup",
		"printable"},
	"cmd/coleo/cost":     {".", "api/apiclient", "cost", "cmd/coleo/verb", "cmd/coleo/show", "cmd/coleo/setup"},
	"cmd/coleo/budget":   {".", "api/apiclient", "cmd/coleo/verb", "cmd/coleo/setup"},
	"cmd/coleo/handover": {".", "api/apiclient", "wire", "cmd/coleo/arm", "cmd/coleo/verb", "cmd/coleo/setup"},
	"cmd/coleo/memo":     {".", "api/apiclient", "wire", "cmd/coleo/verb", "cmd/coleo/setup"},
	"cmd/coleo/workspace": {".", "paths", "workspace", "workspace/merge", "workspace/script", "cmd/coleo/verb",
		"cmd/coleo/setup", "cmd/coleo/worktrees", "printable"},
	"cmd/coleo/thread": {".", "armname", "api/apiclient", "wire", "cmd/coleo/verb", "cmd/coleo/show",
		"cmd/coleo/setup", "printable"},
	"cmd/coleo/revive": {".", "api/apiclient", "wire", "cmd/coleo/arm", "cmd/coleo/verb"},
	"cmd/coleo/changes": {".", "api/apiclient", "wire", "changes", "workspace", "workspace/pull", "cmd/coleo/verb",
		"cmd/coleo/show",
		"cmd/coleo/setup", "cmd/coleo/worktrees", "printable"},
	"cmd/coleo/server": {".", "api", "api/apiclient", "wire", "brain", "brain/start", "bus", "bus/busserver", "config",
		"holder/process", "host",
		"host/armfolder", "localsocket", "pricebook", "cost", "processgroup", "store", "trigger/runner",
		"cmd/coleo/verb", "cmd/coleo/executable", "cmd/coleo/installed", "cmd/coleo/setup", "cmd/coleo/show",
		"cmd/coleo/model", "cmd/coleo/arm", "cmd/coleo/worktrees", "cmd/coleo/revive", "cmd/coleo/template", "wholefile",
		"paths"},
}

// wholeProgram is the folder whose tests run the whole program. These tests may import anything.
const wholeProgram = "cmd/coleo"

// testOnly contains packages that the tests of every package may import in addition.
var testOnly = []string{"api/apiclient", "conformance/", "record/recordtest", "record/databasetest",
	"workspace/gittest", "workspace/pull/fakegh",
	"workspace/script", "hook", "sandbox/container", "sandbox/container/containertest", "sandbox/inside",
	"sandbox/limits", "sandbox/proxy", "registry", "pty", "pty/device", "holder",
	"holder/process", "sqlite", "store", "bus", "bus/busserver", "bus/bustest",
	"localsocket", "host", "host/toolcalls", "brain", "api", "cost", "loop", "wire",
	"harnesses/terminal/casttest", "window/pane",
	"harnesses/terminal", "harnesses/terminal/rules", "record", "waitfor", "timelimit"}

// source is one Go file with its imports.
type source struct {
	path    string // relative to the module's root, with slashes
	imports []string
}

func (s source) dir() string { return filepath.ToSlash(filepath.Dir(s.path)) }

func (s source) isTest() bool { return strings.HasSuffix(s.path, "_test.go") }

// sources returns every Go file of the module.
func sources(t *testing.T) []source {
	t.Helper()
	all, err := readSources()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// readSources parses every Go file of the module once. It reads the files itself: a test that runs the go
// command could receive an old result from the test cache.
var readSources = sync.OnceValues(func() (out []source, err error) {
	err = filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || d.Name() == "node_modules" || path != "." &&
			strings.HasPrefix(d.Name(), ".")) {
			return filepath.SkipDir
		}
		if d.IsDir() || filepath.Ext(path) != ".go" {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		s := source{path: filepath.ToSlash(path)}
		for _, i := range file.Imports {
			p, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			s.imports = append(s.imports, p)
		}
		out = append(out, s)
		return nil
	})
	return out, err
})

func TestPackagesImportWhatTheyMay(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		if s.isTest() && s.dir() == wholeProgram {
			continue
		}
		allowed, ok := rulesFor(s.dir())
		if !ok {
			t.Errorf("%s: package %s is not in the table of arch_test.go", s.path, s.dir())
			continue
		}
		for _, p := range s.imports {
			name, ours := strings.CutPrefix(p, module)
			if name = strings.TrimPrefix(name, "/"); name == "" {
				name = "."
			}
			if !ours || name == s.dir() || matches(allowed, name) || s.isTest() && matches(testOnly, name) {
				continue
			}
			t.Errorf("%s imports %s; %s may import %v", s.path, p, s.dir(), allowed)
		}
	}
}

func rulesFor(dir string) ([]string, bool) {
	if allowed, ok := mayImport[dir]; ok {
		return allowed, true
	}
	for prefix, allowed := range mayImport {
		if strings.HasSuffix(prefix, "/") && strings.HasPrefix(dir, prefix) {
			return allowed, true
		}
	}
	return nil, false
}

// matches reports whether the list contains a name. An entry of the list that ends in / also
// matches every name below it.
func matches(list []string, name string) bool {
	return slices.ContainsFunc(list, func(entry string) bool {
		return entry == name || strings.HasSuffix(entry, "/") && strings.HasPrefix(name, entry)
	})
}
