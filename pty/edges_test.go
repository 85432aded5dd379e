package pty

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	edgeJobs  = flag.String("edge-jobs", "", "write the edge cases for oracle/index.mjs edges to this file")
	edgeCells = flag.Bool("edge-diff", false, "print what differs in the listed misses too")
)

// An edge is one case that many emulators show wrongly. `in` is the output of a program, with ⟦COLSxROWS⟧ where
// the terminal is resized.
type edge struct {
	name, why string
	size      string // COLSxROWS at the start
	in        string
}

// edges returns all edge cases. The results of xterm.js are in testdata/edges.json.gz,
// which `make screens` writes.
func edges() []edge {
	return slices.Concat(textEdges(), screenEdges(), stateEdges())
}

// A step is output, or a resize if Size is set.
type step struct {
	Data []byte `json:"data,omitempty"`
	Size []int  `json:"size,omitempty"` // cols, rows
}

var resizeMark = regexp.MustCompile(`⟦(\d+x\d+)⟧`)

func (e edge) steps() []step {
	var out []step
	rest := e.in
	for _, m := range resizeMark.FindAllStringSubmatch(e.in, -1) {
		before, after, _ := strings.Cut(rest, m[0])
		out = append(out, step{Data: []byte(before)}, step{Size: cells(m[1])})
		rest = after
	}
	return append(out, step{Data: []byte(rest)})
}

// cells parses a size in the form COLSxROWS.
func cells(s string) []int {
	var cols, rows int
	if _, err := fmt.Sscanf(s, "%dx%d", &cols, &rows); err != nil {
		panic(s)
	}
	return []int{cols, rows}
}

// A golden is the result of xterm.js for an edge.
type golden struct {
	shot
	Name  string
	On    []string          // modes that are set
	Looks map[string]string // by row: runs of cells with a style other than the default
}

func TestEdges(t *testing.T) {
	t.Parallel()
	all := edges()
	if *edgeJobs != "" {
		writeEdges(t, all)
		return
	}
	var list []golden
	if err := json.NewDecoder(open(t, "testdata/edges.json.gz")).Decode(&list); err != nil {
		t.Fatal(err)
	}
	goldens := map[string]golden{}
	for _, g := range list {
		goldens[g.Name] = g
	}
	misses, missed := edgeMisses(), 0
	for _, e := range all {
		g, ok := goldens[e.name]
		if !ok {
			t.Errorf("%s: no golden: run make screens", e.name)
			continue
		}
		diff, reason := g.compare(e, 1<<20), misses[e.name]
		delete(misses, e.name)
		switch {
		case diff != "" && reason == "":
			t.Errorf("%s (%s): %q on %s\n%s", e.name, e.why, e.in, e.size, diff)
		case diff == "" && reason != "":
			t.Errorf("%s is listed as a miss, and looks as in xterm.js now", e.name)
		case diff != "":
			missed++
			if *edgeCells {
				t.Logf("%s: %s\n%s", e.name, reason, diff)
			}
		}
		if diff == "" && g.compare(e, 1) != "" {
			t.Errorf("%s: byte by byte it looks different: %s", e.name, g.compare(e, 1))
		}
	}
	for name := range misses {
		t.Errorf("%s is listed as a miss, and no edge case", name)
	}
	const least, most = 150, 3 // least: the number of cases; most: how many per cent of them may differ
	if len(all) < least || missed*100 > len(all)*most {
		t.Errorf("%d of %d edge cases look different, want at least %d cases and at most %d %%", missed, len(all),
			least, most)
	}
	t.Logf("%d of %d edge cases as in xterm.js", len(all)-missed, len(all))
}

func TestEdgesAreNamedOnce(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, e := range edges() {
		if seen[e.name] || e.why == "" {
			t.Errorf("%s: named twice, or without a reason", e.name)
		}
		seen[e.name] = true
	}
}

// draw returns a Core after the steps of e. It writes output in pieces of at most `chunk` bytes.
func (e edge) draw(chunk int) *Core {
	size := cells(e.size)
	c := New(size[0], size[1])
	for _, s := range e.steps() {
		if s.Size != nil {
			c.Resize(s.Size[0], s.Size[1])
		}
		for p := range slices.Chunk(s.Data, chunk) {
			_, _ = c.Write(p)
		}
	}
	return c
}

// compare describes how Core shows e differently from xterm.js. It compares replies only in cases
// about replies, because xterm.js does not answer all queries. It compares the history only in
// cases without a resize, because xterm.js wraps the history again.
func (g golden) compare(e edge, chunk int) string {
	c := e.draw(chunk)
	g.Modes = map[string]bool{}
	for _, m := range comparedModes() {
		g.Modes[m] = slices.Contains(g.On, m)
	}
	diff := compare(c.View(), g.shot)
	if got := c.looks(); !slices.Equal(got, g.looks()) {
		diff += fmt.Sprintf("\nlooks %q\n want %q", got, g.looks())
	}
	if got := string(c.Replies()); got != g.Replies && strings.Contains(e.name, "reply") {
		diff += fmt.Sprintf("\nreplies %q\n   want %q", got, g.Replies)
	}
	if got := c.History(1 << 20); !g.Alt && !strings.Contains(e.in, "⟦") && !slices.Equal(got, g.History) {
		diff += fmt.Sprintf("\nhistory %q\n   want %q", got, g.History)
	}
	return strings.TrimPrefix(diff, "\n")
}

func comparedModes() []string {
	return []string{"application_cursor", "application_keypad", "bracketed_paste", "insert", "origin", "reverse_wrap",
		"focus", "synchronized",
		"wrap", "mouse_x10", "mouse_click", "mouse_drag", "mouse_motion", "cursor_visible"}
}

func (g golden) looks() []string {
	var out []string
	for y := range g.Rows {
		if s := g.Looks[fmt.Sprint(y)]; s != "" {
			out = append(out, fmt.Sprintf("%d %s", y, s))
		}
	}
	return out
}

// looks returns the rows that have cells with a style other than the default. Each row is a list of
// runs: number of cells, foreground, background and attributes, in the form of oracle/index.mjs.
func (c *Core) looks() []string {
	var out []string
	for y := range c.buf.rows {
		var runs []string
		last, n, plain := "", 0, true
		for x := range c.cols {
			s := c.look(x, y)
			plain = plain && s == "-/-"
			if s != last && n > 0 {
				runs = append(runs, fmt.Sprintf("%d:%s", n, last))
				n = 0
			}
			last, n = s, n+1
		}
		if !plain {
			out = append(out, fmt.Sprintf("%d %s", y, strings.Join(append(runs, fmt.Sprintf("%d:%s", n, last)), " ")))
		}
	}
	return out
}

func (c *Core) look(x, y int) string {
	s := c.buf.rows[y].at(x).style
	out := colourName(s.fg) + "/" + colourName(s.bg)
	for i, letter := range "bfiuknhso" {
		if s.attr&(1<<i) != 0 {
			out += string(letter)
		}
	}
	return out
}

func colourName(v uint32) string {
	switch v &^ 0xffffff {
	case colourIndex:
		return fmt.Sprint(v & 0xff)
	case colourRGB:
		return fmt.Sprintf("#%06x", v&0xffffff)
	}
	return "-"
}

func writeEdges(t *testing.T, all []edge) {
	t.Helper()
	type edgeJob struct {
		Name       string `json:"name"`
		Cols, Rows int
		// Plain selects xterm.js without its grapheme addon, for characters that this
		// package measures in the same way.
		Plain bool
		Steps []step `json:"steps"`
	}
	var jobs []edgeJob
	for _, e := range all {
		size := cells(e.size)
		jobs = append(jobs, edgeJob{e.name, size[0], size[1], strings.HasPrefix(e.name, "width/"), e.steps()})
	}
	data, err := json.Marshal(jobs)
	if err == nil {
		err = os.WriteFile(*edgeJobs, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
