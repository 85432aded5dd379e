package reading

// gitCommands contains the git commands that only read git's database, with their options. Commands
// that can write the index, such as status, are missing.
var gitCommands = map[string]gitCommand{
	"log":  {options: gitLog, patches: true, paths: true},
	"show": {options: gitLog, patches: true, always: true, named: true, paths: true, check: shownCommits},
	"diff": {options: gitLog, patches: true, always: true, paths: true, check: onlyRevisions},
	// For `git stash list`, git starts a second git, which shows the log of refs/stash. So these are options of
	// git log.
	"stash list": {options: options{counts: "n", digits: true, long: map[string]value{"oneline": none, "stat": optional,
		"name-only": none, "name-status": none, "date": text, "format": optional, "pretty": optional, "no-color": none}},
		check: noNames},
	"rev-parse": {options: options{flags: "q", long: longOptions([]string{"show-toplevel", "is-inside-work-tree", "verify",
		"git-dir", "absolute-git-dir", "git-common-dir", "show-prefix", "show-cdup", "quiet", "symbolic",
		"symbolic-full-name", "is-bare-repository", "is-inside-git-dir", "is-shallow-repository", "all", "branches",
		"tags", "remotes"}, nil)}.withLongOption("short", optional).withLongOption("abbrev-ref", optional)},
	"rev-list": {options: options{counts: "n", digits: true, long: longOptions([]string{"count", "all", "no-merges",
		"first-parent", "merges", "reverse", "branches", "tags"},
		[]string{"max-count", "since", "until", "author"})}, paths: true},
	"branch": {options: options{flags: "avr", long: longOptions([]string{"all", "remotes", "show-current", "list",
		"verbose", "no-color"}, []string{"sort", "format"})}.withCommits(), texts: true, check: onlyListed("list")},
	"tag": {options: options{flags: "l", long: longOptions([]string{"list"}, []string{"sort", "format"})}.withCommits(),
		texts: true, check: onlyListed("l", "list")},
	"for-each-ref": {options: options{long: longOptions(nil, []string{"sort", "format", "count"})}.withCommits(),
		texts: true, check: onlyRefs},
	"show-ref": {options: options{flags: "dsq", long: longOptions([]string{"tags", "heads", "head", "dereference"}, nil)},
		check: noNames},
	"symbolic-ref": {options: options{flags: "q", long: longOptions([]string{"short", "quiet"}, nil)}, texts: true,
		check: onlyNames("HEAD")},
	"config": {options: options{long: longOptions([]string{"get"}, nil)}, texts: true,
		check: onlyNames("user.name", "user.email")},
	"count-objects": {options: options{flags: "vH", long: longOptions([]string{"verbose", "human-readable"}, nil)},
		check: noNames},
	"version": {check: noNames},
	"reflog": {options: options{counts: "n", digits: true, long: map[string]value{"oneline": none, "date": text,
		"format": optional, "pretty": optional, "no-color": none, "abbrev-commit": none}}, check: noNames},
	"remote": {options: options{flags: "v", long: longOptions([]string{"verbose"}, nil)}, check: noAddresses},
	"describe": {options: options{long: longOptions([]string{"tags", "always", "all", "long", "exact-match",
		"first-parent"}, []string{"match", "exclude"})}.withLongOption("abbrev", optional)},
	"merge-base": {options: options{long: longOptions([]string{"is-ancestor", "all", "fork-point", "octopus"}, nil)}},
	"ls-files": {options: options{flags: "csz", long: longOptions([]string{"stage", "cached", "full-name",
		"error-unmatch"}, nil)}, texts: true, paths: true, check: onlyPatterns},
	"ls-tree": {options: options{flags: "rdtl", long: longOptions([]string{"name-only", "full-tree"}, nil)}, paths: true},
	"shortlog": {options: options{flags: "sne", long: longOptions([]string{"summary", "numbered", "email", "all",
		"no-merges"}, []string{"since", "until"})}, paths: true},
	"blame": {options: options{flags: "wlsefntbcp", joined: "CM", texts: "L", long: longOptions([]string{"show-name",
		"show-number", "show-email", "porcelain", "line-porcelain", "root", "no-progress", "first-parent"},
		[]string{"date"})}.withLongOption("abbrev", optional), texts: true, paths: true, check: oneBlamed},
	"cat-file": {options: options{flags: "ptse"}, check: oneObject},
}

var gitLog = options{flags: "pszwbi", counts: "n", joined: "U", texts: "SG", digits: true, long: map[string]value{
	"oneline": none, "graph": none, "all": none, "decorate": optional, "no-decorate": none, "stat": optional,
	"shortstat": none, "numstat": none, "name-only": none, "name-status": none, "no-patch": none, "patch": none,
	"reverse": none, "merges": none, "no-merges": none, "first-parent": none, "follow": none, "abbrev-commit": none,
	"no-color": none, "color": optional, "summary": none, "max-count": count, "since": text, "until": text,
	"after": text, "before": text, "author": text, "grep": text, "date": text, "format": optional, "pretty": optional,
	"cached": none, "staged": none, "dirstat": none, "branches": none, "tags": none, "unified": optional,
	"no-ext-diff": none, "no-textconv": none, "diff-filter": text, "topo-order": none, "date-order": none,
	"author-date-order": none, "skip": count, "committer": text, "no-renames": none, "compact-summary": none,
	"abbrev": optional, "remotes": none, "ignore-all-space": none, "ignore-space-change": none, "left-right": none,
	"source": none, "boundary": none, "ancestry-path": none}}

// withCommits adds the options that select refs by a commit, such as --contains.
func (o options) withCommits() options {
	for _, name := range refsOf {
		o.long[name] = lastText
	}
	return o
}

// gitCommand describes one command of git.
type gitCommand struct {
	options
	patches bool // the command can show the content of files
	always  bool // the command shows the content of files even without an option
	named   bool // the command shows only FILE for an operand REVISION:FILE
	paths   bool // the words after -- are paths
	texts   bool // the command prints only names or settings; `check` judges its operands and the words after --
	check   func(w Workspace, dir string, a arguments) error
}
