package reading

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"coleo.dev/policy/commandline"
)

const (
	damagedLines      = 20_000 // about two seconds
	damagedLinesShort = 2_000
	mostDamages       = 3 // of one line
)

var (
	quotedScript = regexp.MustCompile(`'[^']+'`)
	scriptWord   = regexp.MustCompile(`[A-Za-z0-9_]+|\S`)
)

// TestADamagedLineIsJudgedWithoutAPanic deletes, repeats and moves words of known lines, mostly in their scripts of
// awk, sed and jq. An agent CLI chooses the line, so it must not be able to make the judge panic.
func TestADamagedLineIsJudgedWithoutAPanic(t *testing.T) {
	t.Parallel()
	w, count := newTree(t), damagedLines
	if testing.Short() {
		count = damagedLinesShort
	}
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 0)) // #nosec G404: a test
	shells := []commandline.Shell{commandline.Bash, commandline.POSIX, commandline.Zsh}
	lines := slices.Concat(allowed, asked)
	lines = slices.DeleteFunc(lines, func(line string) bool { return len(line) > mostDamaged })
	for range count {
		line := lines[r.IntN(len(lines))]
		damaged := line
		for range 1 + r.IntN(mostDamages) {
			damaged = damage(r, damaged)
		}
		func() {
			defer func() {
				if fault := recover(); fault != nil {
					t.Errorf("%q, made of %q with seed %d: %v", damaged, line, seed, fault)
				}
			}()
			_ = w.Judge(Line{Text: damaged, Shell: shells[r.IntN(len(shells))], Dir: w.Root})
		}()
	}
}

// mostDamaged is the length in bytes of the longest line that is damaged. The longer ones only cost time.
const mostDamaged = 400

// damage changes one word of a line. If the line contains a script, it mostly changes a word of the script.
func damage(r *rand.Rand, line string) string {
	from, to := 0, len(line)
	if scripts := quotedScript.FindAllStringIndex(line, -1); len(scripts) > 0 && r.IntN(4) > 0 {
		script := scripts[r.IntN(len(scripts))]
		from, to = script[0]+1, script[1]-1
	}
	part := line[from:to]
	words := scriptWord.FindAllStringIndex(part, -1)
	if len(words) == 0 {
		return line
	}
	one, other := words[r.IntN(len(words))], words[r.IntN(len(words))]
	text := part[other[0]:other[1]]
	switch r.IntN(5) {
	case 0:
		part = part[:one[0]] // the rest is missing
	case 1:
		part = part[one[1]:]
	case 2:
		part = part[:one[0]] + part[one[1]:]
	case 3:
		part = part[:one[0]] + text + part[one[0]:]
	default:
		part = part[:one[0]] + text + part[one[1]:]
	}
	return line[:from] + strings.ReplaceAll(part, "'", "") + line[to:]
}
