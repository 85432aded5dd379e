package pty

import (
	"runtime"
	"slices"
	"strings"
	"testing"
)

// A query is a question of an agent CLI to its terminal, with the expected answer.
type query struct{ name, ask, answer string }

// agentQueries returns all queries that agent CLIs were seen to send, by agent CLI. The answers are
// those of a screen of 120x40 with the cursor at home.
func agentQueries() map[string][]query {
	var (
		da1       = query{"DA1", "\x1b[c", "\x1b[?1;2c"}
		cpr       = query{"CPR", "\x1b[6n", "\x1b[1;1R"}
		keyboard  = query{"kitty keyboard", "\x1b[?u", "\x1b[?0u"}
		version   = query{"XTVERSION", "\x1b[>0q", "\x1bP>|coleo(1)\x1b\\"}
		foregr    = query{"OSC 10", "\x1b]10;?\x1b\\", "\x1b]10;rgb:d4d4/d4d4/d4d4\x1b\\"}
		backgr    = query{"OSC 11", "\x1b]11;?\x07", "\x1b]11;rgb:1e1e/1e1e/1e1e\x07"}
		backgrST  = query{"OSC 11 with ST", "\x1b]11;?\x1b\\", "\x1b]11;rgb:1e1e/1e1e/1e1e\x1b\\"}
		frames    = query{"DECRQM 2026", "\x1b[?2026$p", "\x1b[?2026;2$y"}
		pixels    = query{"DECRQM 1016", "\x1b[?1016$p", "\x1b[?1016;2$y"}
		window    = query{"XTWINOPS 14", "\x1b[14t", "\x1b[4;800;1200t"}
		cell      = query{"XTWINOPS 16", "\x1b[16t", "\x1b[6;20;10t"}
		colour0   = query{"OSC 4", "\x1b]4;0;?\x07", "\x1b]4;0;rgb:0000/0000/0000\x07"}
		status    = query{"OSC 7501", "\x1b]7501;?\x07", "\x1b]7501;?\x1b\\"}
		capName   = query{"XTGETTCAP", "\x1bP+q4d73\x1b\\", "\x1bP0+r4d73\x1b\\"}
		noPicture = query{"kitty graphics: silence means no", "\x1b_Gi=31337,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\", ""}
	)
	return map[string][]query{
		"aider":  {cpr},
		"claude": {version, keyboard, status, da1, frames, noPicture, cell, pixels, backgr, da1},
		"codex":  {keyboard, da1, cpr, foregr, backgrST},
		"gemini": {keyboard, backgrST, version, da1},
		"opencode": {foregr, backgr, version, cpr, capName, pixels,
			{"DECRQM 2027", "\x1b[?2027$p", "\x1b[?2027;2$y"}, {"DECRQM 2031", "\x1b[?2031$p", "\x1b[?2031;2$y"},
			{"DECRQM 1004", "\x1b[?1004$p", "\x1b[?1004;2$y"}, {"DECRQM 2004", "\x1b[?2004$p", "\x1b[?2004;2$y"},
			frames, keyboard, noPicture, {"OSC 99: silence means no", "\x1b]99;i=n:p=?;\x1b\\", ""}, window, colour0,
			{"colour scheme", "\x1b[?996n", "\x1b[?997;1n"}, da1},
		"others": {{"DA2", "\x1b[>c", "\x1b[>0;276;0c"}, {"DSR 5", "\x1b[5n", "\x1b[0n"},
			{"XTWINOPS 18", "\x1b[18t", "\x1b[8;40;120t"}},
	}
}

// TestEachQueryIsAnsweredOnceInOrder sends all queries of an agent CLI, with other output between
// them, in writes of several sizes.
func TestEachQueryIsAnsweredOnceInOrder(t *testing.T) {
	t.Parallel()
	for name, list := range agentQueries() {
		var asked, want strings.Builder
		for _, q := range list {
			asked.WriteString(q.ask + "\x1b[?2026h\x1b[1;31m漢\x1b[m\x1b]0;t✳\x07\x1b[?2026l\x1b[H")
			want.WriteString(q.answer)
		}
		for _, chunk := range []int{1, 7, 4096} {
			c := New(120, 40)
			for p := range slices.Chunk([]byte(asked.String()), chunk) {
				_, _ = c.Write(p)
			}
			if got := string(c.Replies()); got != want.String() {
				t.Errorf("%s, %d bytes at a time: answered\n%q, want\n%q", name, chunk, got, want.String())
			}
			if again := c.Replies(); again != nil {
				t.Errorf("%s, %d bytes at a time: answered again: %q", name, chunk, again)
			}
		}
		for _, q := range list {
			if got := string(draw(120, 40, q.ask).Replies()); got != q.answer {
				t.Errorf("%s: %s is answered %q, want %q", name, q.name, got, q.answer)
			}
		}
	}
}

// TestFetchedAnswersAreNotGivenAgain restores a snapshot in the middle of each query, before the answer is
// fetched, and after it was fetched. Each answer must come only once.
func TestFetchedAnswersAreNotGivenAgain(t *testing.T) {
	t.Parallel()
	for name, list := range agentQueries() {
		c := New(120, 40)
		for _, q := range list {
			half := len(q.ask) / 2
			_, _ = c.Write([]byte(q.ask[:half]))
			if got := c.Replies(); got != nil {
				t.Errorf("%s: half of %s is answered %q", name, q.name, got)
			}
			c = restored(t, c)
			_, _ = c.Write([]byte(q.ask[half:]))
			c = restored(t, c)
			if got := string(c.Replies()); got != q.answer {
				t.Errorf("%s: %s is answered %q, want %q", name, q.name, got, q.answer)
			}
			if got := restored(t, c).Replies(); got != nil {
				t.Errorf("%s: %s is answered again after a restore: %q", name, q.name, got)
			}
		}
	}
}

// TestAStormOfQueriesIsBounded sends each query 100,000 times and fetches no answers. The waiting
// answers must take little memory.
func TestAStormOfQueriesIsBounded(t *testing.T) {
	const (
		times = 100_000
		most  = 1 << 20 // bytes of heap that the answers may take
	)
	for name, list := range agentQueries() {
		var all strings.Builder
		for _, q := range list {
			all.WriteString(q.ask)
		}
		c := New(120, 40)
		before := liveHeap()
		for range times/len(list) + 1 {
			_, _ = c.Write([]byte(all.String()))
		}
		if after := liveHeap(); after > before+most {
			t.Errorf("%s: %d bytes more after the storm", name, after-before)
		}
		got := string(c.Replies())
		if len(got) == 0 || len(got) > maxReplies {
			t.Errorf("%s: %d bytes of answers wait, want 1 to %d", name, len(got), maxReplies)
		}
		for _, q := range list {
			if q.answer != "" {
				got = strings.ReplaceAll(got, q.answer, "")
			}
		}
		if got != "" {
			t.Errorf("%s: answers are cut: %q", name, got[:min(len(got), 100)])
		}
		_, _ = c.Write([]byte("\x1b[5n"))
		if got := string(c.Replies()); got != "\x1b[0n" {
			t.Errorf("%s: after the storm CSI 5 n is answered %q", name, got)
		}
		runtime.KeepAlive(c)
	}
}

// liveHeap returns the bytes of heap in use after a garbage collection.
func liveHeap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
