package thread_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/registry"
	"coleo.dev/sqlite"
	"coleo.dev/thread"
)

// stage is a HOME with an index of its threads.
type stage struct {
	t      *testing.T
	home   string
	state  string
	index  *thread.Index
	places []thread.Place
}

// harnesses are the harnesses whose conversations Coleo can list.
var harnesses = []string{"claude-code", "codex", "copilot", "gemini", "kilo", "opencode", "qwen"}

func newStage(t *testing.T, names ...string) *stage {
	t.Helper()
	s := &stage{t: t, home: t.TempDir(), state: t.TempDir()}
	all, err := registry.New("", nil)
	s.check(err)
	if names == nil {
		names = harnesses
	}
	for _, name := range names {
		h, err := all.Get(name)
		s.check(err)
		p, ok := thread.PlaceOf(h, name, s.home)
		if !ok {
			t.Fatalf("%s lists no conversations", name)
		}
		s.places = append(s.places, p)
	}
	s.open()
	return s
}

func (s *stage) check(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// open opens the index like a new process.
func (s *stage) open() {
	s.t.Helper()
	if s.index != nil {
		s.check(s.index.Close())
	}
	var err error
	s.index, err = thread.Open(s.t.Context(), s.database(), filepath.Join(s.state, "threads.json"))
	s.check(err)
	s.t.Cleanup(func() { s.index.Close() })
}

func (s *stage) database() string { return filepath.Join(s.state, "threads.db") }

// write writes a file below HOME.
func (s *stage) write(path, text string) string {
	s.t.Helper()
	path = filepath.Join(s.home, path)
	s.check(os.MkdirAll(filepath.Dir(path), 0o700))
	s.check(os.WriteFile(path, []byte(text), 0o600))
	return path
}

// recorded returns the lines of a harness's recording.
func (s *stage) recorded(path string) string {
	s.t.Helper()
	file, err := os.Open(filepath.Join("..", "harnesses", path))
	s.check(err)
	defer file.Close()
	zip, err := gzip.NewReader(file)
	s.check(err)
	raw, err := io.ReadAll(zip)
	s.check(err)
	return string(raw)
}

// conversation writes a conversation in the form of Claude Code. messages contains pairs of a
// prompt and an answer.
func (s *stage) conversation(id, folder string, begun time.Time, messages ...string) string {
	s.t.Helper()
	var text bytes.Buffer
	for i, m := range messages {
		kind := []string{"user", "assistant"}[i%2]
		line := map[string]any{"type": kind, "cwd": folder, "sessionId": id,
			"timestamp": begun.Add(time.Duration(i) * time.Second),
			"message":   map[string]any{"role": kind, "content": []map[string]string{{"type": "text", "text": m}}}}
		s.check(json.NewEncoder(&text).Encode(line))
	}
	return s.write(".claude/projects/"+strings.ReplaceAll(folder, "/", "-")+"/"+id+".jsonl", text.String())
}

// refresh refreshes the index, and fails if a thread stays unread.
func (s *stage) refresh() {
	s.t.Helper()
	unread, failed, err := s.index.Refresh(s.t.Context(), s.places)
	if err != nil || unread != 0 || failed != nil {
		s.t.Fatalf("Refresh = %d unread, failed %q, %v", unread, failed, err)
	}
}

// list refreshes the index and returns the threads that f selects.
func (s *stage) list(f coleo.ThreadFilter) []thread.Row {
	s.t.Helper()
	s.refresh()
	rows, err := s.index.List(s.t.Context(), thread.Query{ThreadFilter: f})
	s.check(err)
	return rows
}

// one returns the only thread with the given id, even a hidden one.
func (s *stage) one(id string) thread.Row {
	s.t.Helper()
	rows := s.list(coleo.ThreadFilter{ID: id, Hidden: true})
	if len(rows) != 1 {
		s.t.Fatalf("%d threads have the id %s: %+v", len(rows), id, rows)
	}
	return rows[0]
}

// fill reads all messages.
func (s *stage) fill() {
	s.t.Helper()
	s.refresh()
	if unread, err := s.index.Fill(s.t.Context(), s.places, ""); err != nil || unread != 0 {
		s.t.Fatalf("Fill = %d unread, %v", unread, err)
	}
}

func (s *stage) messages(id string) []string {
	s.t.Helper()
	s.fill()
	list, next, err := s.index.Messages(s.t.Context(), s.one(id), 0, 0)
	if s.check(err); next != 0 {
		s.t.Fatalf("the next page begins after %d", next)
	}
	var out []string
	for _, m := range list {
		out = append(out, m.Kind+" "+m.Text)
	}
	return out
}

func ids(rows []thread.Row) string {
	var out []string
	for _, r := range rows {
		out = append(out, r.ID)
	}
	return strings.Join(out, " ")
}

// openCode fills a database with the rows of OpenCode's recording.
func (s *stage) openCode(folder, parent string) {
	s.t.Helper()
	path := s.write(".local/share/"+folder+"/"+folder+".db", "")
	db, err := sqlite.Open(path, "")
	s.check(err)
	defer db.Close()
	exec := func(q string, args ...any) {
		s.t.Helper()
		_, err := db.ExecContext(s.t.Context(), q, args...)
		s.check(err)
	}
	exec(`CREATE TABLE session (id TEXT PRIMARY KEY, parent_id TEXT, directory TEXT, title TEXT, time_created INTEGER,
		time_updated INTEGER)`)
	exec("CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, data TEXT)")
	exec("CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, time_created INTEGER, data TEXT)")
	id := ""
	for i, line := range strings.Split(strings.TrimSpace(s.recorded("opencode/testdata/record-1.18.33.jsonl.gz")), "\n") {
		var r struct {
			Message, Session, Part string
			Created                int64
			Data                   json.RawMessage
		}
		s.check(json.Unmarshal([]byte(line), &r))
		if i == 0 {
			id = r.Session
			exec("INSERT INTO session VALUES (?, nullif(?, ''), '/work/opencode', 'A chat', ?, ?)", id, parent,
				r.Created, r.Created+9000)
		}
		if r.Part == "" {
			exec("INSERT INTO message VALUES (?, ?, ?, ?)", r.Message, r.Session, r.Created, string(r.Data))
		} else {
			exec("INSERT INTO part VALUES (?, ?, ?, ?)", r.Part, r.Message, r.Created, string(r.Data))
		}
	}
}

// uuid returns an id in the form that agent CLIs use.
func uuid(n int) string { return fmt.Sprintf("%08x-1111-4111-8111-%012x", n, n) }

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
