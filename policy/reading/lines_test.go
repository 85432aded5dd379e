package reading

import (
	_ "embed"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

//go:embed testdata/lines.txt
var linesText string

// allowed contains the command lines that the judge must allow. asked contains the lines that it
// must refuse, because they do more than read or are not known to only read.
var allowed, asked = readLines(linesText)

// leastLines is the smallest number of lines that the file must contain. With fewer lines, the
// tests would try too little.
const leastLines = 1000

func TestThereAreManyLines(t *testing.T) {
	t.Parallel()
	t.Logf("%d lines are allowed, and %d are asked about", len(allowed), len(asked))
	if len(allowed)+len(asked) < leastLines {
		t.Errorf("there are %d lines, want %d", len(allowed)+len(asked), leastLines)
	}
	for _, line := range allowed {
		for _, other := range asked {
			if line == other {
				t.Errorf("%q is in both lists", line)
			}
		}
	}
}

// readLines reads the lines of the file. The file itself explains its format.
func readLines(text string) (allow, ask []string) {
	list := &allow
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case line == "" || strings.HasPrefix(line, "# "):
		case line == "== allow":
			list = &allow
		case line == "== ask":
			list = &ask
		default:
			*list = append(*list, alternatives(line)...)
		}
	}
	return allow, ask
}

// alternatives returns all command lines that one line of the file stands for.
func alternatives(line string) []string {
	before, rest, found := strings.Cut(line, "«")
	if !found {
		return []string{plain(line)}
	}
	texts, rest, _ := strings.Cut(rest, "»")
	var out []string
	for text := range strings.SplitSeq(texts, "|") {
		out = append(out, alternatives(before+text+rest)...)
	}
	return out
}

var byNumber = regexp.MustCompile(`⟨[0-9a-f]+⟩`)

func plain(line string) string {
	line = strings.NewReplacer("￨", "|", "␊", "\n").Replace(line)
	return byNumber.ReplaceAllStringFunc(line, func(s string) string {
		n, err := strconv.ParseUint(strings.Trim(s, "⟨⟩"), 16, 32)
		if err != nil {
			panic(fmt.Sprintf("%s is no number of a character", s))
		}
		return string(rune(n))
	})
}
