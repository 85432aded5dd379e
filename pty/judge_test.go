package pty

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
)

var (
	jobs   = flag.String("jobs", "", "write random byte strings for oracle/index.mjs jobs to this file")
	judged = flag.String("judged", "testdata/judged.json.gz", "what xterm.js made of random byte strings")
	many   = flag.Int("many", 2000, "how many for -jobs")
	length = flag.Int("length", 60, "pieces of each for -jobs")
	seed   = flag.Uint64("seed", 1, "of -jobs")
)

// A job is output that both emulators draw.
type job struct {
	Cols int    `json:"cols"`
	Rows int    `json:"rows"`
	Data []byte `json:"data"`
}

// TestJudge writes the same random text and sequences to this package and to xterm.js, and compares
// the screens. The sequences do not include those that this package treats differently on purpose:
// see piece.
func TestJudge(t *testing.T) {
	t.Parallel()
	if *jobs != "" {
		writeJobs(t)
		return
	}
	var all []struct {
		shot
		Data []byte
	}
	if err := json.NewDecoder(open(t, *judged)).Decode(&all); err != nil {
		t.Fatalf("%s: %v", *judged, err)
	}
	if len(all) < 1000 {
		t.Fatalf("%d byte strings in %s", len(all), *judged)
	}
	bad := 0
	for i, j := range all {
		c := New(j.Cols, j.Rows)
		_, _ = c.Write(j.Data)
		diff := compare(c.View(), j.shot)
		if got := string(c.Replies()); got != j.Replies {
			diff += fmt.Sprintf("\nreplies %q\n   want %q", got, j.Replies)
		}
		if got := c.History(1 << 20); !slices.Equal(got, j.History) && !c.Mode("alt_screen") {
			diff += fmt.Sprintf("\nhistory %q\n   want %q", got, j.History)
		}
		if diff != "" {
			bad++
			if bad <= 3 {
				t.Errorf("%d: %q\n%s", i, j.Data, diff)
			}
		}
	}
	if bad > 0 {
		t.Errorf("%d of %d byte strings look different", bad, len(all))
	}
}

func writeJobs(t *testing.T) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(*seed, 0))
	all := make([]job, *many)
	for i := range all {
		var s strings.Builder
		for range 1 + rnd.IntN(*length) {
			s.WriteString(piece(rnd))
		}
		all[i] = job{5 + rnd.IntN(20), 2 + rnd.IntN(8), []byte(s.String())}
	}
	data, err := json.Marshal(all)
	if err == nil {
		err = os.WriteFile(*jobs, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// piece returns some text or a sequence. It leaves out the following cases, in which this package
// behaves like real terminals and xterm.js does not:
//
//   - moves in origin mode
//   - DECSC with DECRC
//   - SU at the top of the screen
//   - CPR, DECIC and DECDC in the last column
//   - wide characters without DECAWM
//   - the title stack
//   - resets of LNM and of a hidden cursor
//   - tab stops, which xterm.js keeps separately for each screen
func piece(rnd *rand.Rand) string {
	words := []string{
		"a", "word", "two words ", "漢字", "é", "e\u0301", "👍🏽", "⚠\ufe0f", "👩\u200d💻", "🇩🇪", "\u0301", "─│┌", "🟢",
		"가", "ᄀ\u1161", "नि", "1\ufe0f\u20e3", "x\x7fy", "a much longer piece of text that wraps around",
	}
	plain := []string{"\r", "\n", "\r\n", "\b", "\t", "\v", "\x0e", "\x0f", "\x1b(0", "\x1b(B", "\x1b)0", "\x1b*0",
		"\x1bn",
		"\x1bD", "\x1bE", "\x1bM", "\x1b[?1047l\x1b[?1049hword\n漢\x1b[?1049l", "\x1bc\x1b[?25h",
		"\x1b[20hab\ncd\x1b[20l", "\b\x1b[?7llong text that is not wrapped but cut\x1b[?7h", "\x1b#8", "\x1b=", "\x1b>",
		"\x1b[!p", "\u0085", "\u0084", "\u009b2C",
		"\x1b]0;t✳\a", "\x1b]2;x\x1b\\", "\x1b]8;;http://x\x1b\\", "\x1b]52;c;AAAA\a", "\x1b]66;w=2;q\a",
		"\x1b_Gi=1,a=q;AAAA\x1b\\",
		"\x1bP$qr\x1b\\", "\x1bPq#0\x1b\\", "\x1b^pm\x1b\\", "\x1b]0;cut\x18",
		"\x1b[?u\x1b[<u\x1b[>1u"[len("\x1b[?u"):],
		"\x1b[3", "\x1b", "\xe2\x96",
		"\xff", "\xc0\x80", "\x1b[1\n2C", "\x1b[?1;2", "\x1b[ 1q", "\x1b[1:2:3m", "\x1b[38;2;1;2;3m", "\x1b[48:5:9m",
		"\x1b[m",
		"\x1b[5n", "\x1b[c", "\x1b[>c"}
	modes := []string{"4h", "4l", "?1h", "?7h", "?25l", "?25h", "?45h", "?47h", "?47l", "?1047h", "?1047l",
		"?1049h", "?66h", "?1000h", "?1002h", "?1003l", "?1004h", "?1006h", "?2004h", "?2004l", "?2026h", "?2026l",
		"?7$p", "?25$p", "?1049$p", "?2004$p", "?2026$p", "?9999$p", "4$p", "20$p", "?12$p", "?67$p"}
	finals := "@@AABBCCDDEEFFGGHHIIJJKKLLMMPPXXZZ`abdefr"
	switch n := rnd.IntN(20); {
	case n < 8:
		return words[rnd.IntN(len(words))]
	case n < 11:
		return plain[rnd.IntN(len(plain))]
	case n < 12:
		return "\x1b[" + modes[rnd.IntN(len(modes))]
	case n < 13:
		return fmt.Sprintf("\x1b[%d;%dr", rnd.IntN(6), rnd.IntN(12))
	case n < 14:
		odd := []string{"? J", "?K", " @", " A", "'}", "'~", "T", "\"q"}[rnd.IntN(8)]
		return fmt.Sprintf("\x1b[3G\x1b[%d%s", rnd.IntN(4), odd)
	case n < 16:
		return fmt.Sprintf("\x1b[%d;%dH", rnd.IntN(10), rnd.IntN(25))
	}
	final := finals[rnd.IntN(len(finals))]
	switch rnd.IntN(4) {
	case 0:
		return fmt.Sprintf("\x1b[%c", final)
	case 1:
		return fmt.Sprintf("\x1b[%d;%d%c", rnd.IntN(30), rnd.IntN(30), final)
	}
	return fmt.Sprintf("\x1b[%d%c", rnd.IntN(8), final)
}
