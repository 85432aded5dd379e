package reading

// operandKind says how a program uses its operands, for example as paths to read.
type operandKind int

const (
	toFiles        operandKind = iota + 1 // each operand is a path to read
	toTexts                               // no operand is a path
	toPatternFiles                        // the first operand is a pattern, and the others are paths
	// at most one operand, a path to read; the program would write to the file of a second operand
	toOneFile
	toNothing // no operands are allowed
)

// program describes one known program.
type program struct {
	options
	operands operandKind
	builtin  bool // every shell has the command built in, so no program is started
	// check refuses arguments that the tables cannot describe. It can be nil.
	check func(w Workspace, dir string, a arguments) error
	// own judges all words after the program's name. If own is set, the other fields are not used.
	own judge
}

func longOptions(flags, texts []string) map[string]value {
	m := map[string]value{"help": none, "version": none}
	for _, f := range flags {
		m[f] = none
	}
	for _, t := range texts {
		m[t] = text
	}
	return m
}

// withLongOption returns the options with one more long option.
func (o options) withLongOption(name string, v value) options {
	o.long[name] = v
	return o
}

// plainLong contains the options that every GNU program has.
var plainLong = longOptions(nil, nil)

// programs lists the programs that can be allowed. The options of each program are the harmless
// ones of its GNU version. They are also harmless in the versions of other systems.
var programs = map[string]program{
	"true":   {operands: toTexts, builtin: true},
	"false":  {operands: toTexts, builtin: true},
	":":      {own: judgeEcho, builtin: true},
	"echo":   {own: judgeEcho, builtin: true},
	"pwd":    {options: options{flags: "LP"}, operands: toNothing, builtin: true},
	"cd":     {own: judgeCd, builtin: true},
	"exit":   {own: judgeExit, builtin: true},
	"test":   {own: judgeTest, builtin: true},
	"[":      {own: judgeBracket, builtin: true},
	"printf": {own: judgePrintf, builtin: true},

	"cat": {options: options{flags: "AbeEnstTuv", long: longOptions([]string{"number", "number-nonblank", "show-all",
		"show-ends", "show-tabs", "squeeze-blank", "show-nonprinting"}, nil)}, operands: toFiles},
	"head": {options: options{flags: "qvz", counts: "nc", digits: true,
		long: longOptions([]string{"quiet", "silent", "verbose"}, []string{"lines", "bytes"})}, operands: toFiles},
	"tail": {options: options{flags: "qvz", counts: "nc", digits: true,
		long: longOptions([]string{"quiet", "silent", "verbose"}, []string{"lines", "bytes"})}, operands: toFiles,
		check: noFollowing},
	"rev": {options: options{long: plainLong}, operands: toFiles},
	"nl":  {options: options{flags: "p", texts: "bdfhilnsvw", long: plainLong}, operands: toFiles},
	"wc": {options: options{flags: "cmlLw", long: longOptions([]string{"bytes", "chars", "lines", "words",
		"max-line-length"}, nil)}, operands: toFiles},
	"ls": {options: options{flags: "1aAbBcCdfFgGhiklmnNopqQrRsStuUvxX", long: longOptions([]string{"all", "almost-all",
		"human-readable", "recursive", "reverse", "directory", "size", "inode", "classify",
		"group-directories-first", "full-time", "no-group", "numeric-uid-gid"}, []string{"sort", "time",
		"time-style", "format"})}.withLongOption("color", optional), operands: toFiles, check: deepNames("aAf", "R")},
	"stat": {options: options{flags: "t", texts: "c", long: longOptions([]string{"terse"},
		[]string{"format", "printf"})}, operands: toFiles, check: noMounts},
	"du": {options: options{flags: "abchkmsSx0", counts: "d", long: longOptions([]string{"all", "bytes", "human-readable",
		"summarize", "total", "apparent-size", "one-file-system"}, []string{"max-depth"})}, operands: toFiles,
		check: deepNames("a", "")},
	"readlink": {options: options{flags: "fenqvz", long: plainLong}, operands: toFiles},
	"realpath": {options: options{flags: "eq", long: plainLong}, operands: toFiles},
	"basename": {options: options{flags: "az", texts: "s", long: plainLong}, operands: toTexts},
	"dirname":  {options: options{flags: "z", long: plainLong}, operands: toTexts},
	"seq":      {options: options{flags: "w", texts: "fs", long: plainLong}, operands: toTexts, check: shortSequence},
	"uname":    {options: options{flags: "asnrvmpio", long: longOptions([]string{"all"}, nil)}, operands: toNothing},
	"date": {options: options{flags: "uR", long: longOptions([]string{"utc"}, nil)}, operands: toTexts,
		check: onlyFormat},

	"sort": {options: options{flags: "bdfghiMnrRuVzscC", texts: "kt", long: longOptions([]string{"reverse", "unique",
		"numeric-sort", "human-numeric-sort", "version-sort", "ignore-case", "stable"},
		[]string{"key", "field-separator"})}, operands: toFiles},
	"uniq": {options: options{flags: "cduiz", counts: "fsw", long: longOptions([]string{"count", "repeated", "unique",
		"ignore-case"}, []string{"skip-fields", "skip-chars"})}, operands: toOneFile},
	"cut": {options: options{flags: "nsz", texts: "bcdf", long: longOptions([]string{"complement", "only-delimited"},
		[]string{"bytes", "characters", "delimiter", "fields", "output-delimiter"})}, operands: toFiles},
	"tr": {options: options{flags: "cCdst", long: longOptions([]string{"complement", "delete", "squeeze-repeats",
		"truncate-set1"}, nil)}, operands: toTexts},
	"fold":     {options: options{flags: "bs", counts: "w", long: plainLong}, operands: toFiles},
	"expand":   {options: options{flags: "i", texts: "t", long: plainLong}, operands: toFiles},
	"unexpand": {options: options{flags: "a", texts: "t", long: plainLong}, operands: toFiles},
	"paste":    {options: options{flags: "sz", texts: "d", long: plainLong}, operands: toFiles},
	"comm":     {options: options{flags: "123iz", long: plainLong}, operands: toFiles},
	"cmp":      {options: options{flags: "bls", texts: "in", long: plainLong}, operands: toFiles, check: noFolders},
	"diff": {options: options{flags: "cuyqsbBwiaEZdtrNp", texts: "UCWxL", long: longOptions([]string{"brief",
		"side-by-side", "ignore-all-space", "ignore-case", "ignore-blank-lines", "ignore-space-change", "recursive",
		"new-file", "text", "minimal", "report-identical-files", "suppress-common-lines", "strip-trailing-cr",
		"show-c-function"},
		[]string{"exclude", "label", "width"})}.withLongOption("color", optional).withLongOption("unified", optional).
		withLongOption("context", optional), operands: toFiles, check: diffFolders},
	"md5sum":    {options: options{flags: "btz", long: plainLong}, operands: toFiles},
	"sha1sum":   {options: options{flags: "btz", long: plainLong}, operands: toFiles},
	"sha256sum": {options: options{flags: "btz", long: plainLong}, operands: toFiles},
	"sha512sum": {options: options{flags: "btz", long: plainLong}, operands: toFiles},
	"sha224sum": {options: options{flags: "btz", long: plainLong}, operands: toFiles},
	"sha384sum": {options: options{flags: "btz", long: plainLong}, operands: toFiles},
	"b2sum":     {options: options{flags: "btz", long: plainLong}, operands: toFiles},
	"base64": {options: options{flags: "d", counts: "w", long: longOptions([]string{"decode"}, nil)},
		operands: toOneFile},
	"tac":   {options: options{flags: "br", texts: "s", long: plainLong}, operands: toFiles, check: onlyNamed},
	"fmt":   {options: options{flags: "cstu", counts: "w", digits: true, long: plainLong}, operands: toFiles},
	"cksum": {options: options{long: plainLong}, operands: toFiles},
	"od":    {options: options{flags: "bcdoxv", texts: "AtjN", long: plainLong}, operands: toFiles},

	"grep": {options: options{flags: "EFGPiyvwxcLlqsonHhabzTUrIZ", texts: "e", counts: "mABC", files: "f", digits: true,
		long: longOptions([]string{"ignore-case", "invert-match", "word-regexp", "line-regexp", "count",
			"files-with-matches", "files-without-match", "quiet", "no-messages", "only-matching", "line-number",
			"with-filename", "no-filename", "extended-regexp", "fixed-strings", "basic-regexp", "perl-regexp",
			"recursive", "text", "null", "line-buffered", "byte-offset", "null-data", "initial-tab"},
			[]string{"regexp", "max-count", "context", "after-context", "before-context", "include", "exclude",
				"exclude-dir", "binary-files"})}.withLongOption("color", optional).withLongOption("colour", optional),
		operands: toPatternFiles, check: grepFolders},
	"rg": {options: options{anywhere: true, flags: "niSswFlcovxHNUPpI0q", texts: "gtTe", counts: "ABCmjM", files: "f",
		long: longOptions([]string{"files", "line-number", "no-line-number", "no-heading", "heading", "json", "count",
			"count-matches", "fixed-strings", "ignore-case", "smart-case", "case-sensitive", "stats", "multiline",
			"files-with-matches", "files-without-match", "word-regexp", "line-regexp", "invert-match",
			"only-matching", "with-filename", "no-filename", "trim", "column", "vimgrep", "no-messages", "null",
			"type-list", "no-config", "quiet", "pretty", "multiline-dotall"},
			[]string{"glob", "iglob", "type", "type-not", "regexp", "max-count", "max-depth", "context",
				"after-context", "before-context", "color", "sort", "sortr", "max-columns", "threads"})},
		operands: toPatternFiles, check: rgFolders},
	"tree": {options: options{single: true, flags: "adfishDFC", counts: "L", texts: "IP", long: longOptions([]string{
		"noreport", "dirsfirst"}, nil)}, operands: toFiles, check: deepNames("a", "")},
	"column":  {options: options{flags: "tx", texts: "s", long: plainLong}, operands: toFiles},
	"hexdump": {options: options{flags: "bcCdovx", counts: "ns"}, operands: toFiles},
	"xxd":     {options: options{single: true, flags: "bpu", counts: "lsc"}, operands: toOneFile},

	"sed":     {own: judgeSed},
	"find":    {own: judgeFind},
	"awk":     {own: judgeAwk},
	"jq":      {own: judgeJQ},
	"git":     {own: judgeGit},
	"command": {own: whereIs, builtin: true},
	"type":    {own: whatIs, builtin: true},
	"which":   {own: whatIs},
}
